#!/usr/bin/env bash
# `shardsim sweep --submit slurm` on a real Slurm: an array of eight tasks and a merge give what the
# same sweep gives here, to the byte; a task that was killed is finished by running it again.
#
#   sweep_array_test.sh SHARDSIM SOURCE_DIR
#
# Ends with 77 (skipped) where Slurm is not installed (Debian: slurm-wlm and munge).
set -euo pipefail

shardsim=$1
source_dir=$2
# shellcheck source=tests/slurm/single_node.sh
source "$(dirname "${BASH_SOURCE[0]}")/single_node.sh"

if tool=$(missing_slurm); then
  echo "skipped: $tool is not installed (Debian: apt-get install slurm-wlm munge)"
  exit 77
fi

folder=$(mktemp -d /tmp/shardsim-slurm-XXXXXX)
cleanup() {
  status=$?
  stop_slurm
  ((status == 0)) || tail -n 30 "$folder"/*.log "$folder"/*.out "$folder"/jobs/*.slurm/*.log 2>/dev/null
  rm -rf "$folder"
}
trap cleanup EXIT

start_slurm "$folder" || { echo "Slurm did not come up"; exit 1; }

mkdir "$folder/jobs"
cd "$folder/jobs"
cp "$source_dir/scenarios/fsdp2-llama-2-7b-4xdgx-h100.yaml" scenario.yaml
sweep=("$shardsim" sweep scenario.yaml --over cluster.nodes=1..16*2
       --over workload.micro_batch_size=1,2,8 --over 'training.reduce_dtype=fp32,bf16')

"${sweep[@]}" --json local.jsonl --csv local.csv --quiet
said=$("${sweep[@]}" --json merged.jsonl --csv merged.csv --submit slurm --tasks 8)
echo "$said"
merge=$(sed -n 's/.*and job \([0-9]*\), which.*/\1/p' <<<"$said")
[[ -n $merge ]]
wait_until "! squeue --noheader --jobs=$merge 2>/dev/null | grep -q ."
wait_until "test -s merged.csv"

[[ $(ls merged.jsonl.slurm/part-*.jsonl | wc -l) == 8 ]]
cmp local.jsonl merged.jsonl
cmp local.csv merged.csv

# The index of an array is found without being told, and names the output.
cat >own.sh <<EOF
#!/bin/bash
#SBATCH --array=0-3 --output=own-%a.log
exec ${sweep[0]} ${sweep[1]} ${sweep[2]} --over cluster.nodes=1..16*2 --json own.jsonl --quiet -j 1
EOF
job=$(sbatch --parsable own.sh)
wait_until "! squeue --noheader --jobs=$job 2>/dev/null | grep -q ."
wait_until "test -s own.4-of-4.jsonl"
"$shardsim" merge own.?-of-4.jsonl --json own.jsonl --quiet
"$shardsim" sweep scenario.yaml --over 'cluster.nodes=1..16*2' --json whole.jsonl --quiet
cmp own.jsonl whole.jsonl
echo "an array of 8 tasks and its merge equal the local sweep"
