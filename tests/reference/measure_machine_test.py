"""tools/measure-machine on recorded measurements: what it writes is what they were made from.

    measure_machine_test.py SOURCE_FOLDER SHARDSIM

The recording is synthetic: products as an H100 with efficiency 0.80, memory efficiency 0.78 and
3.6 us of fixed time has them, each up to 2 % off; copies at 0.85 of its bandwidth; collectives as
the simulator has them where NVLink reaches 78 % in 0.45 us and NICs 90 % in 1.4 us.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1])
SHARDSIM = pathlib.Path(sys.argv[2])
RECORDED = SOURCE / "tests" / "reference" / "data" / "recorded"


def measure(out, *arguments):
    return subprocess.run(
        [sys.executable, SOURCE / "tools" / "measure-machine", "--build", SHARDSIM.parent.parent,
         "--out", out, *arguments], capture_output=True, text=True, check=False)


class MeasureMachine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = pathlib.Path(cls.folder.name)
        cls.done = measure(cls.out, "--base", "dgx-h100", "--name", "my-node", "--from", RECORDED)
        if cls.done.returncode != 0:
            raise AssertionError(cls.done.stderr)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def numbers(self, file, key):
        text = (self.out / file).read_text(encoding="utf-8")
        return [float(n) for n in re.findall(rf"^ *{key}: ([0-9.]+)", text, re.MULTILINE)]

    def test_cables_are_found_again(self):
        nics, nvlink = self.numbers("my-node.yaml", "efficiency")
        self.assertAlmostEqual(nics, 90, delta=0.5)
        self.assertAlmostEqual(nvlink, 78, delta=0.5)
        nics, nvlink = self.numbers("my-node.yaml", "latency")
        self.assertAlmostEqual(nics, 1.4, delta=0.02)
        self.assertAlmostEqual(nvlink, 0.45, delta=0.02)

    def test_products_copies_and_launches_are_found_again(self):
        gpu = "gpus/my-node.yaml"
        self.assertAlmostEqual(self.numbers(gpu, "efficiency")[0], 0.80, delta=0.015)
        self.assertAlmostEqual(self.numbers(gpu, "memory_efficiency")[0], 0.78, delta=0.03)
        fixed = self.numbers(gpu, "fixed_time")
        self.assertAlmostEqual(fixed[0], 3.6, delta=0.15)
        self.assertAlmostEqual(fixed[-1], 2.9, delta=0.001)
        self.assertAlmostEqual(self.numbers(gpu, "stream")[0], 0.85, delta=0.01)
        self.assertLess(self.numbers(gpu, "expected_error")[0], 2)
        self.assertIn("cpu: {launch: 2.4 us}", self.done.stdout)

    def test_the_files_are_a_machine_that_the_simulator_runs(self):
        scenario = SOURCE / "scenarios" / "fsdp2-llama-2-7b-4xdgx-h100.yaml"
        done = subprocess.run(
            [SHARDSIM, "run", scenario, "--set", f"cluster.topology={self.out / 'my-node.yaml'}",
             "--set", "cluster.nodes=1", "--json", "-"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["cluster"]["gpu"], "my-node")

    def test_what_the_simulator_says_of_it_is_what_was_measured(self):
        measured = [line.split(",") for line in (RECORDED / "nccl.csv").read_text().splitlines()]
        rows = {int(b): float(us) for name, b, us in measured[1:]
                if name == "synthetic_1x8_all_reduce_Ring_Simple"}
        done = subprocess.run(
            [SHARDSIM, "collective", "all_reduce", "--topology", self.out / "my-node.yaml", "-b",
             "1K", "-e", "1G", "-f", "32", "--algo", "Ring", "--proto", "Simple", "--json", "-"],
            capture_output=True, text=True, check=True)
        for row in json.loads(done.stdout)["rows"]:
            self.assertAlmostEqual(row["time_us"] / rows[row["bytes"]], 1, delta=0.02)

    def test_bad_arguments_and_measurements_end_with_2(self):
        with tempfile.TemporaryDirectory() as other:
            for arguments in (("--base", "nowhere", "--name", "a", "--from", RECORDED),
                              ("--base", "dgx-h100", "--name", "A b", "--from", RECORDED),
                              ("--base", "dgx-h100", "--name", "a", "--from", other)):
                self.assertEqual(measure(other, *arguments).returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
