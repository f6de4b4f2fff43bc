#!/usr/bin/env bash
# Holds a build to the committed digests of all outputs, so that every build that is tested - by GCC
# or Clang, with or without optimisation, with sanitizers - gives the same bytes as every other.
#
#   check.sh PROGRAM ROOT SCRATCH              exit 1 and a list if an output differs
#   check.sh PROGRAM ROOT SCRATCH --update     writes the digests instead (tools/update-digests)
#
# After a difference the outputs stay in SCRATCH: `diff -r` with those of another build (produce.sh)
# shows what it is.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
program=$1 root=$2 scratch=$3 mode=${4:-}
expected=$here/expected.sha256
rm -rf "$scratch"
"$here/produce.sh" "$program" "$root" "$scratch"
fresh=$(mktemp)
trap 'rm -f "$fresh" "$fresh.wanted"' EXIT
# One line an output; a quarter of the digest tells them apart.
(cd "$scratch" && find . -type f | sort | xargs -d '\n' sha256sum | sed -E 's/^(.{16}).{48}/\1/') \
  >"$fresh"

if [[ $mode == --update ]]; then
  if [[ ! -f $scratch/page.html ]]; then
    echo "check.sh: a build without the viewer of pages cannot write the digests" >&2
    exit 1
  fi
  { diff "$expected" "$fresh" || true; } | sed -n 's/^> .\{16\}  /changed: /p'
  cp "$fresh" "$expected"
  exit 0
fi

cp "$expected" "$fresh.wanted"
if [[ ! -f $scratch/page.html ]]; then sed -i '/\.html$/d' "$fresh.wanted"; fi
if ! changes=$(diff "$fresh.wanted" "$fresh"); then
  echo "These outputs differ from what tests/same_results/expected.sha256 holds:"
  sed -n -E 's/^[<>] .{16}  (.*)/  \1/p' <<<"$changes" | sort -u
  echo "If a forecast is meant to change: tools/update-digests, and a line in CHANGELOG.md"
  exit 1
fi
rm -rf "$scratch"
echo "$(wc -l <"$fresh") outputs are the same"
