#!/usr/bin/env python3
"""Runs the same network jobs in shardsim and in SimGrid, side by side, and prints ratios.

    tests/bench/compare_simgrid.py [BUILD_DIR] [--repeat N] [--quick]

BUILD_DIR (build/release) was configured with -DSHARDSIM_BUILD_BENCHMARKS=ON where libsimgrid-dev is
installed. Both programs run in turns, N times (5); printed are CPU seconds, the least and the
median of each, and the ratio of the least. Of SimGrid each way to write the job, both of its
solver's modes, and memory in large pages or not are tried at half the size, and the fastest is
compared. Both sides get the same settings of the C library's allocator. --quick leaves out what
takes minutes.

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
import statistics
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
}


def fields(line):
    """'shardsim all_to_all equal hosts 64 ...': the words after a name by that name."""
    words = line.split()
    return {name: value for name, value in zip(words, words[1:])}


SOLVERS = ("Lazy", "Full")
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}  # shardsim asks for them by itself


def run(command, environment=None):
    """The fields of the line that a program prints about its run."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=True,
        env={**os.environ, **ALLOCATOR, **(environment or {})})
    return fields(next(x for x in done.stdout.splitlines() if "cpu_s" in x))


class Samples:
    """Runs of one program; what is compared is the best of them."""

    def __init__(self, name, better):
        self.name, self.better, self.lines = name, better, []

    def add(self, line):
        self.lines.append(line)

    def values(self):
        return [float(line[self.name]) for line in self.lines]

    def best(self):
        return (min if self.better == "less" else max)(self.values())

    def median(self):
        return statistics.median(self.values())


def in_turns(ours, theirs, repeat, name, better):
    """`ours` and `theirs` run once each, in turns; a run's fields."""
    samples = Samples(name, better), Samples(name, better)
    for _ in range(repeat):
        samples[0].add(ours())
        samples[1].add(theirs())
    return samples


class Settings:
    """A way to run SimGrid's side of a job."""

    def __init__(self, mode, solver, large_pages):
        self.mode, self.solver, self.large_pages = mode, solver, large_pages

    def run(self, program, *before):
        arguments = [self.mode, *SIMGRID, f"--cfg=network/optim:{self.solver}"]
        return run([program, *before, *arguments], LARGE_PAGES if self.large_pages else None)

    def __str__(self):
        return f"{self.mode}, {self.solver}" + (", large pages" if self.large_pages else "")


def fastest_settings(program, before, modes):
    times = {}
    for mode in modes:
        for solver in SOLVERS:
            for large_pages in (False, True):
                settings = Settings(mode, solver, large_pages)
                times[settings] = min(float(settings.run(program, *before)["cpu_s"])
                                      for _ in range(2))
    return min(times, key=times.get)


def worst_difference(ours, theirs):
    worst = 0.0
    for a, b in zip(ours.read_text().split(), theirs.read_text().split()):
        if float(b) > 0:
            worst = max(worst, abs(float(a) / float(b) - 1))
    return worst


def ratio_of(ours, theirs):
    best = theirs.best() / ours.best()
    return best if ours.better == "less" else 1 / best


def report(what, ours, theirs, unit, extra=""):
    print(f"{what:<28}{ours.best():>11.5g} ({ours.median():.5g})"
          f"{theirs.best():>13.5g} ({theirs.median():.5g}) {unit:<12}"
          f"{ratio_of(ours, theirs):>7.1f}x  {extra}", flush=True)
    return ratio_of(ours, theirs)


def all_to_all(tools, hosts, kind, repeat):
    """The ratio, and by how much the completion times of any flow differ."""
    # Without actors it takes a minute for 256 hosts.
    modes = ("dag", "sendto", "mailbox") if hosts <= 64 else ("sendto", "mailbox")
    ours, theirs = tools / "all_to_all_bench", tools / "simgrid_all_to_all"
    settings = fastest_settings(theirs, [hosts // 2, kind], modes)
    samples = in_turns(lambda: run([ours, hosts, kind]),
                       lambda: settings.run(theirs, hosts, kind), repeat, "cpu_s", "less")
    small = min(hosts, 64)
    # Where each flow's end is known best.
    timed = settings.mode if settings.mode != "mailbox" else "sendto"
    with tempfile.TemporaryDirectory() as folder:
        ours_file, theirs_file = pathlib.Path(folder, "ours"), pathlib.Path(folder, "theirs")
        run([ours, small, kind, ours_file])
        run([theirs, small, kind, timed, theirs_file, *SIMGRID])
        differ = worst_difference(ours_file, theirs_file)
    ends = [float(one.lines[0]["last_s"]) for one in samples]
    last = ends[0] / ends[1] - 1
    ratio = report(f"all-to-all {kind}, {hosts} hosts", *samples, "CPU s",
                   f"last end differs by {last:.1e}, any of {small} hosts by {differ:.1e} "
                   f"({settings})")
    return ratio, max(abs(last), differ)


def ring_messages(tools, hosts):
    done = subprocess.run(
        [str(tools / "chunk_bench"), f"--benchmark_filter=^ring_all_gather/{hosts}$",
         "--benchmark_format=json"],
        capture_output=True, text=True, check=True, env={**os.environ, **ALLOCATOR})
    rate = max(x["messages/s"] for x in json.loads(done.stdout)["benchmarks"])
    return {"messages_per_s": rate}


def ring(tools, hosts, repeat):
    """The ratio of messages per CPU second."""
    theirs = tools / "simgrid_ring"
    settings = fastest_settings(theirs, [hosts // 2], ("mailbox", "detached"))
    samples = in_turns(lambda: ring_messages(tools, hosts),
                       lambda: settings.run(theirs, hosts), repeat, "messages_per_s", "more")
    return report(f"ring all-gather, {hosts} ranks", *samples, "messages/s",
                  f"({settings})")


def jittered_alone(tools, hosts):
    """CPU seconds of the all-to-all in which every flow ends at its own time."""
    cpu = float(run([tools / "all_to_all_bench", hosts, "jittered"])["cpu_s"])
    print(f"{'all-to-all jittered, %d hosts' % hosts:<28}{cpu:>11.5g}", flush=True)
    return cpu


def missing(tools):
    """What has to be built before anything can be compared; empty if all is there."""
    names = ("all_to_all_bench", "chunk_bench", "simgrid_all_to_all", "simgrid_ring")
    return [name for name in names if not (tools / name).exists()]


def print_head():
    print(f"{'job, best (median)':<28}{'shardsim':>20}{'SimGrid':>24}{'ratio':>20}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", default="build/release", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    tools = arguments.build / "tests" / "bench"
    if absent := missing(tools):
        print(f"{tools} lacks {', '.join(absent)}: install libsimgrid-dev, configure with "
              "-DSHARDSIM_BUILD_BENCHMARKS=ON and build", file=sys.stderr)
        return 2
    print_head()
    all_to_all(tools, 256, "equal", arguments.repeat)
    ring(tools, 1024, arguments.repeat)
    all_to_all(tools, 64, "jittered", 1)
    for hosts in (128,) if arguments.quick else (128, 256):
        jittered_alone(tools, hosts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
