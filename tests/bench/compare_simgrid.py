#!/usr/bin/env python3
"""Runs the same network jobs in shardsim and in SimGrid, side by side, and prints ratios.

    tests/bench/compare_simgrid.py [BUILD_DIR] [--repeat N] [--quick]

BUILD_DIR (build/release) was configured with -DSHARDSIM_BUILD_BENCHMARKS=ON where libsimgrid-dev is
installed. Times are CPU seconds, the least of N runs (3) of each program; of SimGrid each way to
write the job is tried at a quarter of the size, and the fastest is compared. Both sides get the same
settings of the C library's allocator, large pages among them. --quick leaves out what takes minutes.

    equal      all-to-all of 256 hosts on a fat-tree, every flow on its own: at least 20 times
               faster, completion times equal
    jittered   the same with unequal sizes, every flow ending at its own time: 64 hosts in both,
               128 and 256 in shardsim alone, for which SimGrid takes minutes to hours
    ring       all-gather message by message on 1,024 ranks: at least 40 times more messages a second
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SIMGRID = [
    "--cfg=network/model:CM02",  # no factors, no start-up: the plain max-min fluid model
    "--cfg=network/TCP-gamma:0",
    "--cfg=network/crosstraffic:0",
    "--cfg=contexts/factory:raw",
    "--log=root.thres:critical",
]
ALLOCATOR = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    "MALLOC_TOP_PAD_": str(1 << 26),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}


def fields(line):
    """'shardsim all_to_all equal hosts 64 ...': the words after a name by that name."""
    words = line.split()
    return {name: value for name, value in zip(words, words[1:])}


def run(command, repeat=1):
    """The fields of the run that took the least CPU time."""
    best = None
    for _ in range(repeat):
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True, text=True, check=True, env={**os.environ, **ALLOCATOR})
        line = next(x for x in done.stdout.splitlines() if "cpu_s" in x)
        made = fields(line)
        if best is None or float(made["cpu_s"]) < float(best["cpu_s"]):
            best = made
    return best


def fastest_mode(program, before, modes):
    times = {mode: float(run([program, *before, mode, *SIMGRID])["cpu_s"]) for mode in modes}
    return min(times, key=times.get)


def worst_difference(ours, theirs):
    worst = 0.0
    for a, b in zip(ours.read_text().split(), theirs.read_text().split()):
        if float(b) > 0:
            worst = max(worst, abs(float(a) / float(b) - 1))
    return worst


def report(what, ours, theirs, unit, better, extra=""):
    ratio = theirs / ours if better == "less" else ours / theirs
    print(f"{what:<34}{ours:>14.6g}{theirs:>14.6g} {unit:<12}{ratio:>8.1f}x  {extra}", flush=True)


def all_to_all(tools, simgrid, hosts, kind, repeat):
    modes = ("dag", "sendto", "mailbox")
    mode = fastest_mode(simgrid / "simgrid_all_to_all", [hosts // 4, kind], modes)
    with tempfile.TemporaryDirectory() as folder:
        ours_file, theirs_file = pathlib.Path(folder, "ours"), pathlib.Path(folder, "theirs")
        ours = run([tools / "all_to_all_bench", hosts, kind, ours_file], repeat)
        timed = mode if mode != "mailbox" else "sendto"  # where each flow's end is known best
        theirs = run([simgrid / "simgrid_all_to_all", hosts, kind, mode, *SIMGRID], repeat)
        small = min(hosts, 64)
        run([tools / "all_to_all_bench", small, kind, ours_file])
        run([simgrid / "simgrid_all_to_all", small, kind, timed, theirs_file, *SIMGRID])
        differ = worst_difference(ours_file, theirs_file)
    last = float(ours["last_s"]) / float(theirs["last_s"]) - 1
    report(f"all-to-all {kind}, {hosts} hosts", float(ours["cpu_s"]), float(theirs["cpu_s"]),
           "CPU s", "less",
           f"last end differs by {last:.1e}, any of {small} hosts by {differ:.1e} (mode {mode})")


def ring(tools, simgrid, hosts, repeat):
    mode = fastest_mode(simgrid / "simgrid_ring", [hosts // 4], ("mailbox", "detached"))
    theirs = run([simgrid / "simgrid_ring", hosts, mode, *SIMGRID], repeat)
    rate = float(theirs["messages_per_s"])
    program = tools / "chunk_bench"
    if not program.exists():
        print(f"ring all-gather, {hosts} ranks: SimGrid {rate:.6g} messages/CPU s (mode {mode}); "
              "chunk_bench is not built")
        return
    done = subprocess.run(
        [str(program), f"--benchmark_filter=^ring_all_gather/{hosts}$",
         "--benchmark_format=json"], capture_output=True, text=True, check=True)
    ours = max(x["messages/s"] for x in json.loads(done.stdout)["benchmarks"])
    report(f"ring all-gather, {hosts} ranks", ours, rate, "messages/s", "more", f"(mode {mode})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", default="build/release", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    tools = arguments.build / "tests" / "bench"
    if not (tools / "simgrid_all_to_all").exists():
        print(f"{tools} holds no SimGrid programs: install libsimgrid-dev and configure with "
              "-DSHARDSIM_BUILD_BENCHMARKS=ON", file=sys.stderr)
        return 2
    print(f"{'job':<34}{'shardsim':>14}{'SimGrid':>14} {'':<12}{'ratio':>9}")
    all_to_all(tools, tools, 256, "equal", arguments.repeat)
    ring(tools, tools, 1024, arguments.repeat)
    all_to_all(tools, tools, 64, "jittered", 1)
    for hosts in (128,) if arguments.quick else (128, 256):
        ours = run([tools / "all_to_all_bench", hosts, "jittered"])
        print(f"{'all-to-all jittered, %d hosts' % hosts:<34}{float(ours['cpu_s']):>14.6g}",
              flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
