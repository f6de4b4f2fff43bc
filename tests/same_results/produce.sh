#!/usr/bin/env bash
# Writes every kind of output of the program for the shipped files into a folder, so that builds can
# be compared byte by byte. What depends on the host (wall-clock time, memory of the process) and
# the embedded viewer of pages are taken out.
#
#   produce.sh PROGRAM ROOT OUT          ROOT: the checkout; OUT: a folder, made if missing
set -euo pipefail
export LC_ALL=C

program=$(realpath "$1")
root=$(realpath "$2")
mkdir -p "$3"
out=$(realpath "$3")
cd "$root"

# Takes out of stdin what depends on the host.
of_any_host() {
  sed -E -e 's/"(wall_s|peak_rss_bytes)": ?[0-9.e+-]+,?//g' \
    -e 's/(simulated .* ranks? of .*) in [0-9.]+ [a-z]+,/\1,/' \
    -e 's/(points?|runs?) in [0-9.]+ [a-z]+/\1/'
}

# Runs the program: NAME STATUS ARGUMENT..., where STATUS may be "any"; NAME.txt has the exit status
# and both streams.
show() {
  local name=$1 expected=$2 status=0
  shift 2
  "$program" "$@" >"$out/$name.raw" 2>"$out/$name.err" </dev/null || status=$?
  { echo "status $status"; cat "$out/$name.raw"; echo "messages"; cat "$out/$name.err"; } |
    sed "s:$out:OUT:g" | of_any_host >"$out/$name.txt"
  rm "$out/$name.raw" "$out/$name.err"
  if [[ $status != "$expected" && $expected != any ]]; then
    echo "produce.sh: exit status $status, not $expected: shardsim $*" >&2
    tail -n 5 "$out/$name.txt" >&2
    exit 1
  fi
}

# Files that say something of the host.
without_host() {
  local file
  for file in "$@"; do
    of_any_host <"$file" >"$file.same"
    mv "$file.same" "$file"
  done
}

# The data of the page that a command writes: FILE ARGUMENT... A build without Node.js has no pages.
page() {
  local file=$1
  shift
  if "$program" "$@" --quiet --report "$out/page.raw" 2>/dev/null </dev/null; then
    grep 'type="application/json"' "$out/page.raw" | of_any_host >"$out/$file"
    rm "$out/page.raw"
  fi
}

run_scenarios() {
  local scenario name
  for scenario in scenarios/*.yaml scenarios/pairs/*.yaml scenarios/quiz/*.yaml; do
    name=run-$(basename "$(dirname "$scenario")")-$(basename "$scenario" .yaml)
    name=${name/run-scenarios-/run-}
    show "$name" 0 run "$scenario" --json "$out/$name.json" --trace "$out/$name.trace.json" \
      --timeline "$out/$name.timeline.json" --memory-snapshot "$out/$name.memory.pickle"
    without_host "$out/$name.json"
  done
}

run_fidelities() {
  local name scenario=scenarios/fsdp2-llama-2-7b-4xdgx-h100.yaml
  local hybrid=scenarios/slow-fabric-hsdp-llama-2-7b-4xdgx-h100.yaml
  show fidelity-model 0 run $scenario --fidelity model --json "$out/fidelity-model.json"
  show fidelity-chunk 0 run $scenario --fidelity chunk --set cluster.nodes=1 \
    --json "$out/fidelity-chunk.json"
  show exact-ranks 0 run $hybrid --exact-ranks --json "$out/exact-ranks.json" \
    --timeline "$out/exact-ranks.timeline.json"
  show what-if 0 run $scenario --what-if --json "$out/what-if.json"
  show jitter 0 run scenarios/gpu-spread-llama-2-7b-32xdgx-h100.yaml --set cluster.nodes=2 \
    --exact-ranks --json "$out/jitter.json"
  show impossible 1 run $scenario --set workload.micro_batch_size=64
  show refused 2 run $scenario --set training.stratgy=ddp
  without_host "$out"/{fidelity-model,fidelity-chunk,exact-ranks,what-if,jitter}.json
  page page.html run $scenario
}

run_collectives() {
  local collective fidelity name status
  for collective in all_reduce all_gather reduce_scatter broadcast reduce alltoall sendrecv; do
    for fidelity in flow chunk model; do
      name=collective-$collective-$fidelity
      status=0  # NCCL has no estimate of its own for messages between pairs
      if [[ $fidelity == model && $collective =~ alltoall|sendrecv ]]; then status=2; fi
      show "$name" $status collective $collective --topology dgx-h100 --nodes 2 -b 8 -e 16M -f 8 \
        --fidelity $fidelity --json "$out/$name.json"
    done
  done
  name=collective-messages
  show "$name" 0 collective all_reduce --topology dgx-a100 --nodes 2 --gpus 4 -b 1M -e 1M \
    --fidelity chunk --chunk-trace "$out/$name.csv" --chunk-work "$out/$name.json"
}

run_topologies() {
  local topology name
  for topology in topologies/*.yaml topologies/nccl/*.xml; do
    name=topology-$(basename "${topology%.*}")-${topology##*.}
    # Some want a number of nodes; the message is a result too.
    show "$name" any topology "$topology" --json "$out/$name.json" --dot "$out/$name.dot"
  done
  show topology-many 0 topology h100-fat-tree --nodes 16 --json "$out/topology-many.json"
}

run_sweeps() {
  local threads scenario=scenarios/fsdp2-llama-2-7b-4xdgx-h100.yaml
  for threads in 1 3; do
    show "sweep-$threads" 0 sweep $scenario --over 'cluster.nodes=1..8*2' \
      --over workload.micro_batch_size=1,2 -j $threads --json "$out/sweep.$threads.jsonl" \
      --csv "$out/sweep.$threads.csv"
    sed -i "s/sweep\.$threads\./sweep.N./g" "$out/sweep-$threads.txt"
  done
  cmp "$out/sweep.1.jsonl" "$out/sweep.3.jsonl"
  cmp "$out/sweep.1.csv" "$out/sweep.3.csv"
  cmp "$out/sweep-1.txt" "$out/sweep-3.txt"
  page sweep.html sweep $scenario --over cluster.nodes=1,2
  show sweep-best 0 sweep $scenario --best tokens_per_s --subject-to memory.fits
  show sweep-target 0 sweep $scenario --target 'step.time_s < 0.9 s'
}

run_others() {
  show quiz 0 quiz solve --json "$out/quiz.json"
  show quiz-data 0 quiz data --out "$out/quiz-data.json"
  without_host "$out/quiz.json" "$out/quiz-data.json"
  local language
  for language in en hi ms; do
    show "quiz-$language" 0 quiz export --format gift --lang $language --out "$out/$language.gift"
  done
  show schema 0 schema --out "$out/schema"
  show validate 0 validate --training tests/golden/validation/training_sample.csv \
    --oom tests/golden/validation/oom_sample.csv --json "$out/validate.json" \
    --residuals "$out/residuals.csv" --leave-one-out
}

run_scenarios
run_fidelities
run_collectives
run_topologies
run_sweeps
run_others
