#!/usr/bin/env bash
# Points a second of a sweep of small points with one thread and with all cores, and its memory.
#
#   sweep_throughput.sh SHARDSIM SOURCE_DIR [POINTS]
#
# The share that it prints is (throughput with N threads) / (N x throughput with one). It means
# something only on a machine that does nothing else: the lines of CPU time say whether it did.
set -euo pipefail

shardsim=$1
scenario=$2/scenarios/textbook-fsdp2.yaml
points=${3:-10000}
cores=$(nproc)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Wall seconds, CPU seconds, peak memory in KiB.
measure() {
  local threads=$1 count=$2
  /usr/bin/time -f '%e %U %S %M' "$shardsim" sweep "$scenario" \
    --over "workload.explicit.block_forward=1..$count us" --json "$folder/$threads.jsonl" --quiet \
    -j "$threads" 2>&1 | tail -n 1
}

read -r wall1 user1 system1 memory1 <<<"$(measure 1 "$points")"
read -r walln usern systemn memoryn <<<"$(measure "$cores" "$points")"
read -r _ _ _ memory_few <<<"$(measure "$cores" $((points / 10)))"
awk -v n="$cores" -v p="$points" -v w1="$wall1" -v wn="$walln" -v u1="$user1" -v s1="$system1" \
    -v un="$usern" -v sn="$systemn" -v m1="$memory1" -v mn="$memoryn" -v mf="$memory_few" 'BEGIN {
  printf "%d points, 1 thread:  %.2f s, %.0f points/s, CPU %.2f s, %d KiB\n", p, w1, p / w1, u1 + s1, m1
  printf "%d points, %d threads: %.2f s, %.0f points/s, CPU %.2f s, %d KiB\n", p, n, wn, p / wn, un + sn, mn
  printf "%d points, %d threads: %d KiB\n", p / 10, n, mf
  printf "share of %d x one thread: %.1f %% (by CPU time: %.1f %%)\n", n, 100 * w1 / (n * wn), 100 * (u1 + s1) / (un + sn)
}'
