#!/usr/bin/env python3
"""Tests of demo.sh and demo_findings.py: what `metis` is asked for, and which runs are spoken of. The programs are replaced
by one that writes down how it was called and leaves small runs behind."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parent
METIS = """#!%s
import json, os, pathlib, sys
words = sys.argv[1:]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(words) + "\\n")
if words[0] == "simulate":
    pairs = " ".join(words).replace("=", " ").split()
    value = lambda option, default: pairs[pairs.index(option) + 1] if option in pairs else default
    policies = value("--policy", "").rstrip(",").split(",")
    for policy in policies:
        out = pathlib.Path(value("--out", ""))
        run = out / policy if len(policies) > 1 else out
        if len(policies) > 1 and (out / "summary.json").exists():
            sys.exit(f"{out} is itself a run")
        if run.exists() and {each.name for each in run.iterdir()} - {"summary.json", "partition.json"}:
            sys.exit(f"{run} holds other files")
        run.mkdir(parents=True, exist_ok=True)
        learners = [{"contribution": share} for share in (3, 1)]
        (run / "summary.json").write_text(json.dumps(
            {"policy": policy, "accuracy": {"final": 0.5}, "length_s": 90, "seed": int(value("--seed", "1990")),
             "learners": learners}))
        (run / "partition.json").write_text(json.dumps({"learners": [
            {"learner": 0, "faulty": True, "class_counts": [2, 1]},
            {"learner": 1, "faulty": False, "class_counts": [1, 3]}]}))
""" % sys.executable
DEFAULTS = {"--policy": "sync-fedavg,async-fedavg,fedasync,async-dvw", "--dataset": "fashion-mnist", "--model": "mnist-cnn",
            "--precision": "auto", "--examples": "4000", "--learners": "10", "--slow": "5", "--slowdown": "10",
            "--sizes": "powerlaw", "--faulty": "0:labels=random", "--duration": "90s", "--out": "runs/demo",
            "--test-examples": "2000"}


class Demo(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        home = pathlib.Path(directory.name)
        self.root, self.calls = home / "tree", home / "calls"
        self.program(home / "bin/cmake", '#!/bin/sh\necho \'["cmake"]\' >>"${CALLS}"\n')
        self.program(self.root / "scripts/setup.sh", "#!/bin/sh\n")
        self.program(self.root / "build/release/bin/metis", METIS)
        for name in ("demo.sh", "demo_findings.py"):
            shutil.copy(SCRIPTS / name, self.root / "scripts")
        self.environment = dict(os.environ, PATH=f"{home / 'bin'}:{os.environ['PATH']}", CALLS=str(self.calls))

    def program(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def demo(self, *arguments, code=0):
        """How `metis simulate` and `metis report` were called, and what was said."""
        self.calls.write_text("")
        run = subprocess.run(["scripts/demo.sh", *arguments], cwd=self.root, env=self.environment, capture_output=True,
                             text=True, timeout=120)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        calls = [json.loads(line) for line in self.calls.read_text().splitlines()]
        return {call[0]: call[1:] for call in calls}, run.stdout + run.stderr

    def options(self, words):
        """{option: values, in order} of words that are all options with one value, or --force."""
        words = [part for word in words if word != "--force"
                 for part in (word.split("=", 1) if word.startswith("--") else [word])]
        found = {}
        for option, value in zip(words[::2], words[1::2]):
            found.setdefault(option, []).append(value)
        return found

    def test_without_arguments(self):
        calls, said = self.demo()
        options = self.options(calls["simulate"])
        self.assertEqual(sorted(options.pop("--set")), ["test.every=3s", "trigger.local_epochs=2"])
        self.assertEqual(options, {option: [value] for option, value in DEFAULTS.items()})
        self.assertEqual(calls["simulate"].count("--force"), 1)
        policies = ["async-dvw", "async-fedavg", "fedasync", "sync-fedavg"]
        self.assertEqual(calls["report"], [*(f"runs/demo/{policy}" for policy in policies), "--title",
                                           "Ten learners, one with wrong labels", "--out", "runs/demo/report.html"])
        self.assertIn("Learner 0 holds 42.9 % of the examples", said)
        self.assertIn("After 90 virtual seconds of seed 1990", said)
        self.demo()  # and again: its own runs are replaced

    def test_what_is_given_takes_the_place_of_what_is_used_here(self):
        for option in DEFAULTS:
            if option in ("--dataset", "--policy", "--out"):
                continue
            for given in ([option, "7"], [f"{option}=7"]):
                options = self.options(self.demo(*given)[0]["simulate"])
                self.assertEqual(options[option], ["7"], given)
        for given in (["--set", "test.every=1s"], ["--set=test.every=1s"]):
            assignments = self.options(self.demo(*given)[0]["simulate"])["--set"]
            self.assertEqual([each for each in assignments if each.startswith("test.every")][-1], "test.every=1s")

    def test_only_its_own_directory_is_replaced_unasked(self):
        for given, forced in ((["--out=runs/demo"], 1), (["--out", "runs/demo/"], 1), (["--force"], 1),
                              (["--out=runs/other"], 0), (["--out", "runs/other"], 0),
                              (["--out", "runs/other", "--force"], 1), (["--out", "runs/demo/mine"], 0)):
            self.assertEqual(self.demo(*given)[0]["simulate"].count("--force"), forced, given)
        self.assertEqual(self.demo("--out=runs/other")[0]["report"][-1], "runs/other/report.html")

    def test_runs_of_an_earlier_call_are_not_spoken_of(self):
        self.demo("--seed", "7")
        calls, said = self.demo("--policy", "fedasync,sync-dvw")
        self.assertEqual(calls["report"][:3], ["runs/demo/fedasync", "runs/demo/sync-dvw", "--title"])
        self.assertIn("of seed 1990", said)
        self.assertNotIn("async-fedavg", said)
        calls, said = self.demo("--policy=sync-dvw")
        self.assertEqual(calls["report"][:2], ["runs/demo/sync-dvw", "--title"])
        self.assertEqual(self.options(calls["simulate"])["--out"], ["runs/demo/sync-dvw"])
        self.assertTrue(said.rstrip().endswith("test images: sync-dvw 50.0 %."), said)

    def test_one_policy_first_and_all_of_them_afterwards(self):
        for policy in ("fedasync", "sync-dvw,"):
            self.demo("--policy", policy)
            self.assertEqual(len(self.demo()[0]["report"]), 4 + len(["--title", "", "--out", ""]))

    def test_a_directory_without_a_name_is_refused_before_anything_is_built(self):
        for given in (["--out", ""], ["--out="], ["--policy", "fedasync", "--out", ""], ["--seed", "7", "--out"]):
            calls, said = self.demo(*given, code=2)
            self.assertEqual(calls, {}, given)
            self.assertIn("--out needs a directory", said)

    def test_help_builds_nothing_wherever_it_is_asked_for(self):
        for words in (["--help"], ["--seed", "7", "-h"]):
            calls, said = self.demo(*words)
            self.assertEqual(calls, {})
            self.assertIn("scripts/demo.sh --seed 7", said)

    def test_built_in_data_are_refused_before_anything_is_built(self):
        for given in (["--dataset", "builtin"], ["--dataset=builtin"], ["--trainer", "builtin"],
                      ["--set", "data.dataset=builtin"], ['--set=data.dataset="builtin"']):
            calls, said = self.demo(*given, code=2)
            self.assertEqual(calls, {}, given)
            self.assertIn("metis simulate --dataset builtin", said)


if __name__ == "__main__":
    unittest.main()
