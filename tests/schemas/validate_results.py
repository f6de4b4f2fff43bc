"""Every kind of JSON that the program writes, held to the schema that it ships.

Arguments: the program, the root of the source tree. Exit status 77: skipped.
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("SKIPPED: there is no Python module jsonschema (tools/setup test)")
    sys.exit(77)

program, root = sys.argv[1], pathlib.Path(sys.argv[2])
used = set()
problems = []


def run(arguments, allowed=(0,)):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode not in allowed:
        problems.append(f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr[:300]}")
    return done.stdout


def validator(name):
    schema = json.loads(run(["schema", name]))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check(name, document, what):
    used.add(name)
    for error in list(validators[name].iter_errors(document))[:3]:
        place = "/".join(str(part) for part in error.absolute_path)
        problems.append(f"{what}: {place}: {error.message[:300]}")


results = sorted(path.name.removesuffix(".schema.json") for path in (root / "schemas").glob("*.json"))
for name in ("scenario", "topology", "gpu", "model", "prices"):
    validator(name)
validators = {name: validator(name) for name in results}

scratch = tempfile.TemporaryDirectory()
folder = pathlib.Path(scratch.name)
scenarios = [
    path for pattern in ("*.yaml", "pairs/*.yaml", "quiz/*.yaml")
    for path in sorted((root / "scenarios").glob(pattern))
]
for path in scenarios:
    # 1: a scenario that shows how memory runs out has a result, too.
    text = run(["run", str(path), "--json", "-"], allowed=(0, 1))
    if text:
        check("result", json.loads(text), f"run {path.name}")

one = "fsdp2-llama-3-8b-1xdgx-h100"
sample = json.loads(run(["run", one, "--what-if", "--json", "-", "--timeline", str(folder / "timeline.json")]))
check("result", sample, "run --what-if")
check("timeline", json.loads((folder / "timeline.json").read_text()), "run --timeline")
short = run(["run", one, "--set", "workload.micro_batch_size=64", "--json", "-"], allowed=(1,))
check("result", json.loads(short), "run out of memory")
offload = ["--set", "workload.model=llama-3-405b", "--set", "workload.activation_checkpointing=full",
           "--set", "training.cpu_offload=true"]
large = "fsdp2-llama-2-7b-4xdgx-h100"
short = json.loads(run(["run", large, *offload, "--set", "cluster.nodes=1", "--json", "-"], allowed=(1,)))
check("result", short, "run out of host memory")
if short["out_of_memory"].get("where") != "host":
    problems.append("run out of host memory: it has some")
for line in run(["sweep", large, *offload, "--over", "cluster.nodes=1,8", "--json", "-", "--quiet"]).splitlines():
    check("sweep", json.loads(line), "sweep with CPU offload")

sweep = run(["sweep", one, "--over", "workload.micro_batch_size=1,64", "--over", "training.strategy=fsdp2,none",
             "--prices", "list-2026", "--json", "-", "--quiet"])
for line in sweep.splitlines():
    check("sweep", json.loads(line), "sweep")
if len(sweep.splitlines()) != 4:
    problems.append("sweep: expected 4 lines")

for fidelity in ("model", "flow", "chunk"):
    rows = run(["collective", "all_reduce", "--topology", "dgx-a100", "-b", "1K", "-e", "1M", "-f", "32",
                "--fidelity", fidelity, "--json", "-"])
    check("collective", json.loads(rows), f"collective --fidelity {fidelity}")
# Tori are of one size.
nodes = {"h100-torus-2d": "16", "h100-torus-3d": "64"}
for path in sorted((root / "topologies").glob("*.yaml")):
    report = run(["topology", path.stem, "--nodes", nodes.get(path.stem, "1"), "--json", "-"])
    if report:
        check("topology-report", json.loads(report), f"topology {path.stem}")
check("topology-report", json.loads(run(["topology", "dgx-h100", "--nodes", "2", "--json", "-"])), "topology")

errors = run(["validate", "--training", "published-runs", "--leave-one-out", "--json", "-"])
check("validation", json.loads(errors), "validate --training")
check("quiz-verdicts", json.loads(run(["quiz", "solve", "--json", "-"])), "quiz solve")

# The schemas are closed: what they do not name, and a key that is gone, is an error.
extra = copy.deepcopy(sample)
extra["step"]["speed"] = 1
gone = copy.deepcopy(sample)
del gone["memory"]["peak_used_bytes"]
other = dict(sample, schema="shardsim.result/2")
for changed in (extra, gone, other):
    if validators["result"].is_valid(changed):
        problems.append("the schema of results lets pass what is no result")

for name in results:
    if name not in used:
        problems.append(f"nothing was held to schema {name}")
for problem in problems:
    print(problem)
print(f"{len(scenarios)} scenarios, {len(used)} schemas, {len(problems)} problems")
sys.exit(1 if problems else 0)
