"""`metis experiment`, as a user types it, on a small table of its own with built-in data.

Usage: experiment_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import csv
import json
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

BIN = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path("build/dev/bin").resolve()

TABLE = """[table]
title = "Gaussian classes"
paper = "no table at all"
[stop]
duration = "40s"
[builtin]
training_examples = 2000
[[column]]
policy = "sync-fedavg"
label = "SyncFedAvg"
[[column]]
policy = "async-dvw"
label = "AsyncDVW(na)"
[[row]]
id = "uniform-iid"
label = "Uniform, IID"
data.sizes = "uniform"
data.classes = "iid"
[[row]]
id = "powerlaw-noniid-3"
label = "Power Law, Non-IID(3)"
data.sizes = "powerlaw"
data.classes = "noniid:3"
[[measure]]
at = "40s"
label = "at 40 s"
uniform-iid = "0.8272 0.8220"
powerlaw-noniid-3 = "0.1202 0.5517"
"""


def wait_until(happened, seconds=300):
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            raise AssertionError("it did not happen in time")
        time.sleep(0.02)


class ExperimentTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.home = Path(directory.name)
        self.write_table()

    def write_table(self, duration="40s", **of_columns):
        """`of_columns`: a further line for columns, by their policies."""
        text = TABLE.replace("40s", duration, 1)
        for policy, line in of_columns.items():
            head = f'policy = "{policy.replace("_", "-")}"\n'
            self.assertIn(head, text)
            text = text.replace(head, f"{head}{line}\n")
        table = self.home / "experiments" / "small" / "table.toml"
        table.parent.mkdir(parents=True, exist_ok=True)
        table.write_text(text)

    def metis(self, *arguments):
        return subprocess.run([str(BIN / "metis"), "experiment", *arguments], cwd=self.home,
                              capture_output=True, text=True, timeout=1500)

    def run_table(self, *arguments, code=0):
        run = self.metis("run", "small", *arguments)
        self.assertEqual(run.returncode, code, run.stderr + run.stdout)
        return run

    def directory(self, row, policy, seed=1990, scale="full"):
        return self.home / "runs/experiments/small" / scale / row / policy / f"seed-{seed}"

    def summary(self, *cell):
        return json.loads((self.directory(*cell) / "summary.json").read_text())

    def table(self, *arguments):
        shown = self.metis("table", "small", "--json", *arguments)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        return json.loads(shown.stdout)

    def test_a_table_is_run_and_shown_beside_the_papers_figures(self):
        run = self.run_table("--seeds", "2", "--jobs", "2")
        self.assertIn("8 runs, 0 done before and skipped, 0 to go on with, 8 to begin", run.stderr)
        self.assertIn("uniform-iid/async-dvw, seed 1991: done in ", run.stderr)
        self.assertIn("0.1202", run.stdout)
        self.assertIn("2 seeds: mean ± sample deviation.", run.stdout)
        self.assertIn("metis report runs/experiments/small/full", run.stdout)
        accuracies = [self.summary("powerlaw-noniid-3", "async-dvw", seed)["accuracy"]["final"]
                      for seed in (1990, 1991)]
        cell = self.table()["rows"][1]["cells"][1]["measures"][0]
        self.assertAlmostEqual(cell["mean"], sum(accuracies) / 2)
        self.assertAlmostEqual(cell["deviation"], abs(accuracies[0] - accuracies[1]) / 2 ** 0.5)
        self.assertEqual(cell["paper"], 0.5517)
        where = self.home / "runs/experiments/small/full"
        self.assertEqual(json.loads((where / "table.json").read_text()), self.table())
        self.assertIn("**", (where / "table.md").read_text())
        with open(where / "table.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 4)
        self.assertGreater(float(rows[0]["wall_s"]), 0)

    def test_what_is_done_is_not_done_again(self):
        self.run_table("--rows", "uniform")
        before = (self.directory("uniform-iid", "async-dvw") / "events.jsonl").stat().st_mtime_ns
        run = self.run_table()
        self.assertIn("4 runs, 2 done before and skipped", run.stderr)
        after = (self.directory("uniform-iid", "async-dvw") / "events.jsonl").stat().st_mtime_ns
        self.assertEqual(before, after)
        again = self.run_table()
        self.assertIn("4 runs, 4 done before and skipped, 0 to go on with, 0 to begin",
                      again.stderr)
        self.assertIn("small\n", self.metis("list").stdout)
        self.assertIn("full 4 of 4 cells", self.metis("list").stdout)

    def test_a_smaller_scale_says_so(self):
        run = self.run_table("--scale", "0.5", "--time", "0.5", "--rows", "uniform",
                             "--columns", "async-dvw")
        self.assertIn("Not at full scale: 1,000 of 2,000 training examples, "
                      "500 of 1,000 test examples, 10 s of 40 s; a fast learner", run.stdout)
        run = self.directory("uniform-iid", "async-dvw", scale="scale-0.5-time-0.5")
        self.assertAlmostEqual(json.loads((run / "summary.json").read_text())["length_s"], 10,
                               delta=0.5)
        shown = self.table("--scale", "0.5", "--time", "0.5")
        self.assertEqual(shown["scale"], {"data": 0.5, "time": 0.5})
        self.assertIsNone(self.table()["rows"][0]["cells"][1]["measures"][0]["mean"])

    def interrupt(self, send):
        """Begins two long runs, one after the other, and interrupts the first by `send`."""
        self.write_table(duration="20000s")
        process = subprocess.Popen(
            [str(BIN / "metis"), "experiment", "run", "small", "--rows", "uniform"],
            cwd=self.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        events = self.directory("uniform-iid", "sync-fedavg") / "events.jsonl"
        wait_until(lambda: events.exists() and events.stat().st_size > 100_000)
        send(process)
        out, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, errors)
        return out, errors

    def test_an_interrupted_command_goes_on_when_given_again(self):
        out, errors = self.interrupt(lambda process: process.send_signal(signal.SIGINT))
        self.assertIn("the same command goes on where this one ended", errors)
        self.assertIn("Begun, not complete: ", out)
        self.assertFalse(self.summary("uniform-iid", "sync-fedavg")["complete"])
        self.assertFalse(self.directory("uniform-iid", "async-dvw").exists())
        planned = self.run_table("--rows", "uniform", "--dry-run").stdout
        self.assertIn("metis simulate --resume runs/experiments/small/full/uniform-iid/sync-fedavg",
                      planned)
        run = self.run_table("--rows", "uniform", "--columns", "sync-fedavg")
        self.assertIn("1 runs, 0 done before and skipped, 1 to go on with, 0 to begin", run.stderr)
        resumed = self.summary("uniform-iid", "sync-fedavg")
        self.assertTrue(resumed["complete"])
        straight = self.metis("run", "small", "--rows", "uniform", "--columns", "sync-fedavg",
                              "--out", "straight")
        self.assertEqual(straight.returncode, 0, straight.stderr)
        path = self.home / "straight/small/full/uniform-iid/sync-fedavg/seed-1990/summary.json"
        self.assertEqual(resumed, json.loads(path.read_text()))

    def test_a_cell_that_fails_does_not_stop_the_others(self):
        self.write_table(sync_fedavg='data.dataset = "absent.npz"')
        run = self.run_table("--rows", "uniform", code=1)
        self.assertIn("failed", run.stdout)
        self.assertIn("Failed: uniform-iid/sync-fedavg, seed 1990: ", run.stdout)
        self.assertIn("absent.npz", run.stdout)
        log = self.directory("uniform-iid", "sync-fedavg").with_suffix(".log")
        self.assertIn("absent.npz", log.read_text())
        self.assertTrue(self.summary("uniform-iid", "async-dvw")["complete"])

    def test_runs_of_another_configuration_are_refused_by_name(self):
        self.run_table("--rows", "uniform", "--columns", "async-dvw")
        self.write_table(async_dvw='stop.duration = "50s"')
        run = self.run_table("--rows", "uniform", code=1)
        self.assertIn("runs/experiments/small/full/uniform-iid/async-dvw/seed-1990: holds a run "
                      "that was configured otherwise ([stop] duration = \"40s\" there, "
                      "duration = \"50s\" here)", run.stderr)
        self.assertIn("--out", run.stderr)
        self.assertFalse(self.directory("uniform-iid", "sync-fedavg").exists())
        other = self.run_table("--rows", "uniform", "--columns", "async-dvw", "--out", "other")
        self.assertIn("1 to begin", other.stderr)

    def test_a_dry_run_prints_commands_and_does_nothing(self):
        run = self.run_table("--dry-run", "--rows", "uniform", "--jobs", "64")
        lines = run.stdout.splitlines()
        self.assertEqual(lines[0],
                         "metis simulate "
                         "runs/experiments/small/full/uniform-iid/sync-fedavg/seed-1990.toml "
                         "--out runs/experiments/small/full/uniform-iid/sync-fedavg/seed-1990 "
                         "--threads 1")
        # 5 learners at 100 ms a batch and 5 at 1 s: 2,200 batches of 100 in 40 s.
        self.assertEqual(lines[2], "# 2 of 2 runs to do; they train on at most 440,000 images")
        self.assertFalse((self.home / "runs").exists())

    def test_a_cell_is_shown_as_it_is_run(self):
        self.run_table("--rows", "powerlaw", "--columns", "async-dvw", "--time", "0.5")
        shown = self.metis("show", "small", "powerlaw-noniid-3", "async-dvw", "--time", "0.5")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        run = self.directory("powerlaw-noniid-3", "async-dvw", scale="time-0.5")
        self.assertEqual(run.with_suffix(".toml").read_text(), shown.stdout)
        lines = shown.stdout.splitlines()
        self.assertEqual(lines[:3], ["# Gaussian classes",
                                     "# Power Law, Non-IID(3); AsyncDVW(na); seed 1990", ""])
        self.assertEqual((run / "config.toml").read_text().splitlines(), lines[3:])
        self.assertIn('duration = "20s"', lines)

    def test_wrong_names_are_answered_with_the_nearest(self):
        for arguments, message in (
                (["run", "smal"], 'there is no table "smal" in experiments: did you mean "small"?'),
                (["run", "small", "--rows", "unifrom-iid"], "did you mean uniform-iid?"),
                (["run", "small", "--columns", "async"], "--columns async fits none of"),
                (["show", "small", "uniform", "async-dvw"], 'no row "uniform": did you mean'),
                (["show", "small", "uniform-iid", "async"], 'no column "async"'),
                (["table", "small", "--experiments", "nowhere"], "no experiments in nowhere")):
            run = self.metis(*arguments)
            self.assertEqual(run.returncode, 1, arguments)
            self.assertIn(message, run.stderr)
        for arguments in (["run", "small", "--scale", "0"], ["run", "small", "--scale", "1.5"],
                          ["run", "small", "--scale", "nan"], ["run", "small", "--time", "nan"],
                          ["run", "small", "--seeds", "0"], ["run", "small", "--models", "mlp"],
                          ["run", "cache", "--rows", "x"], ["run", "cache", "--learners", "few"],
                          []):
            self.assertEqual(self.metis(*arguments).returncode, 2, arguments)

    def test_the_cache_figure_compares_with_and_without(self):
        run = self.metis("run", "cache", "--models", "mlp:64,mlp:512", "--learners", "3,40",
                         "--repetitions", "3")
        self.assertEqual(run.returncode, 0, run.stderr)
        points = json.loads((self.home / "runs/experiments/cache/cache.json").read_text())["points"]
        self.assertEqual([(p["model"], p["learners"]) for p in points],
                         [("mlp:64", 3), ("mlp:64", 40), ("mlp:512", 3), ("mlp:512", 40)])
        self.assertGreater(points[3]["ratio"], points[2]["ratio"])
        self.assertGreater(points[2]["parameters"], points[0]["parameters"])
        self.assertIn("<svg", (self.home / "runs/experiments/cache/cache.svg").read_text())

    def test_help_has_an_example(self):
        for arguments in ([], ["list"], ["show"], ["run"], ["table"]):
            shown = self.metis(*arguments, "--help")
            self.assertEqual(shown.returncode, 0)
            self.assertIn("metis experiment", shown.stdout)
            self.assertIn("Example", shown.stdout)


if __name__ == "__main__":
    unittest.main()
