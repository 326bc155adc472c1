"""`metis compare` and `metis report`, as a user types them.

Usage: compare_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import csv
import io
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path("build/dev/bin").resolve()

POLICIES = ["sync-dvw", "async-dvw-adaptive"]
SEEDS = [11, 4]


def run_metis(home, *arguments):
    return subprocess.run([str(BIN / "metis"), *arguments], cwd=home, capture_output=True, text=True,
                          timeout=300)


class CompareTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Two seeds of two policies, in runs/SEED/POLICY."""
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.made = Path(directory.name)
        for seed in SEEDS:
            run = run_metis(cls.made, "simulate", "--policy", ",".join(POLICIES), "--seed", str(seed),
                            "--duration", "150s", "--sizes", "powerlaw", "--classes", "noniid:3",
                            "--set", "builtin.training_examples=2000", "--out", f"runs/{seed}")
            assert run.returncode == 0, run.stderr

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.home = Path(directory.name)
        shutil.copytree(self.made / "runs", self.home / "runs")

    def metis(self, *arguments):
        return run_metis(self.home, *arguments)

    def done(self, *arguments):
        run = self.metis(*arguments)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def refusal(self, *arguments, code=1):
        run = self.metis(*arguments)
        self.assertEqual((run.returncode, run.stdout), (code, ""), run.stderr)
        self.assertTrue(run.stderr.startswith("metis: "), run.stderr)
        return run.stderr

    def summary(self, seed, policy):
        return json.loads((self.home / f"runs/{seed}/{policy}/summary.json").read_text())

    def summaries(self, policy):
        return [self.summary(seed, policy) for seed in sorted(SEEDS)]

    def data_of(self, page):
        """The data that a page holds, parsed as a browser would."""
        text = (self.home / page).read_text()
        found = re.findall(r'<script[^>]*\bid="?metis-data"?[^>]*>(.*?)</script>', text, re.DOTALL)
        self.assertEqual(len(found), 1)
        self.assertNotIn("METIS_REPORT_", text)
        return json.loads(found[0])

    def test_json_is_what_the_summaries_say(self):
        told = json.loads(self.done("compare", "runs", "--target", "0.3", "--target", "0.99", "--json"))
        self.assertEqual(told["target_accuracies"], [0.3, 0.99])
        groups = {group["label"]: group for group in told["groups"]}
        self.assertEqual(sorted(groups), sorted(POLICIES))
        for policy, group in groups.items():
            self.assertEqual(group["seeds"], sorted(SEEDS))
            self.assertEqual(group["directories"], [f"runs/{seed}/{policy}" for seed in sorted(SEEDS)])
            self.assertNotIn("federation.seed", group["settings"])
            self.assertEqual(group["settings"]["data.classes"], "noniid:3")
            summaries = self.summaries(policy)
            measures = {"requests": [s["update_requests"] for s in summaries],
                        "models_exchanged": [s["models_exchanged"] for s in summaries],
                        "models_for_evaluation": [s["models_for_evaluation"] for s in summaries],
                        "final_accuracy": [s["accuracy"]["final"] for s in summaries],
                        "best_accuracy": [s["accuracy"]["best"] for s in summaries]}
            for name, values in measures.items():
                self.assertEqual(group[name]["values"], values, name)
                self.assertAlmostEqual(group[name]["mean"], statistics.mean(values))
                self.assertAlmostEqual(group[name]["deviation"], statistics.stdev(values))
            reached = [next(t["t_s"] for t in s["tests"] if t["accuracy"] >= 0.3) for s in summaries]
            self.assertEqual(group["time_to_accuracy_s"][0]["values"], reached)
            self.assertEqual(group["time_to_accuracy_s"][1],
                             {"mean": None, "deviation": None, "count": 0, "values": [None, None]})
        self.assertNotEqual(groups[POLICIES[0]]["requests"], groups[POLICIES[1]]["requests"])

    def test_the_table_has_a_row_for_each_group_in_the_order_given(self):
        lines = self.done("compare", "runs/4/sync-dvw", "runs/11", "--target", "0.3", "--target",
                          "0.99").splitlines()
        self.assertRegex(lines[0], r"^runs +seeds +requests +models +evaluated +accuracy +best +to 0.3"
                                   r" +to 0.99$")
        self.assertEqual(len(lines), 3)
        mean = statistics.mean(s["accuracy"]["final"] for s in self.summaries("sync-dvw"))
        self.assertRegex(lines[1], rf"^sync-dvw +2 .* {mean:.4f} ± 0\.\d{{4}} .* \d+\.\d s +-$")
        alone = self.summary(11, "async-dvw-adaptive")
        self.assertRegex(lines[2], rf"^async-dvw-adaptive +1 +{alone['update_requests']} +"
                                   rf"{alone['models_exchanged']} +{alone['models_for_evaluation']} +"
                                   rf"{alone['accuracy']['final']:.4f} +")

    def test_a_target_that_only_some_seeds_reach_says_how_many(self):
        best = sorted(s["accuracy"]["best"] for s in self.summaries("sync-dvw"))
        self.assertLess(best[0], best[1])
        lines = self.done("compare", "runs/11/sync-dvw", "runs/4/sync-dvw", "--target",
                          str(best[1])).splitlines()
        self.assertRegex(lines[1], r" \d+\.\d s \(1 of 2\)$")

    def test_csv_carries_the_full_values(self):
        rows = list(csv.DictReader(io.StringIO(self.done("compare", "runs", "--target", "0.3", "--csv"))))
        self.assertEqual(len(rows), 2)
        for row in rows:
            summaries = self.summaries(row["policy"])
            accuracies = [s["accuracy"]["final"] for s in summaries]
            self.assertEqual((row["runs"], row["complete"]), ("2", "true"))
            self.assertAlmostEqual(float(row["final_accuracy"]), statistics.mean(accuracies))
            self.assertAlmostEqual(float(row["final_accuracy_deviation"]), statistics.stdev(accuracies))
            reached = [next(t["t_s"] for t in s["tests"] if t["accuracy"] >= 0.3) for s in summaries]
            self.assertAlmostEqual(float(row["time_to_0.3_s"]), statistics.mean(reached))
            self.assertEqual(row["time_to_0.3_s_count"], "2")

    def test_a_setting_that_differs_within_a_policy_is_named(self):
        run = self.metis("simulate", "runs/4/sync-dvw/config.toml", "--set", "trigger.local_epochs=2",
                         "--out", "two")
        self.assertEqual(run.returncode, 0, run.stderr)
        told = json.loads(self.done("compare", "runs/4", "two", "--json"))
        self.assertEqual([group["label"] for group in told["groups"]],
                         ["async-dvw-adaptive", "sync-dvw, trigger.local_epochs = 4",
                          "sync-dvw, trigger.local_epochs = 2"])

    def test_a_repeated_run_is_not_counted_twice(self):
        shutil.copytree(self.home / "runs/4/sync-dvw", self.home / "copy")
        run = self.metis("compare", "runs/4/sync-dvw", "copy", "runs/4/sync-dvw")
        self.assertEqual(run.returncode, 0)
        self.assertIn("copy is left out: it repeats runs/4/sync-dvw", run.stderr)
        self.assertRegex(run.stdout, r"(?m)^sync-dvw +1 ")

    def test_a_run_that_was_cut_off_is_shown_and_marked(self):
        run = self.home / "runs/4/sync-dvw"
        (run / "summary.json").unlink()
        record = (run / "events.jsonl").read_bytes()
        (run / "events.jsonl").write_bytes(record[:len(record) * 2 // 3])
        said = self.done("compare", "runs/4/sync-dvw")
        self.assertRegex(said, r"(?m)^sync-dvw \* +1 ")
        self.assertRegex(said, r"\* runs/4/sync-dvw ended early, after \d+ s\.")
        self.done("report", "runs/4/sync-dvw")
        shown = self.data_of("runs/4/sync-dvw/report.html")["groups"][0]["runs"][0]
        self.assertEqual((shown["complete"], shown["bytes_sent"]), (False, None))
        whole = [line for line in record[:len(record) * 2 // 3].split(b"\n")[:-1]
                 if b'"note":"committed"' in line]
        self.assertEqual(shown["requests"], sum(len(json.loads(line)["updates"]) for line in whole))
        self.assertGreater(shown["requests"], 0)

    def test_without_the_summary_the_record_says_the_same(self):
        self.done("report", "runs", "--out", "with.html")
        for summary in self.home.glob("runs/*/*/summary.json"):
            summary.unlink()
        self.done("report", "runs", "--out", "without.html")
        for whole, cut in zip(self.data_of("with.html")["groups"], self.data_of("without.html")["groups"]):
            for a, b in zip(whole["runs"], cut["runs"]):
                for key in ("requests", "rejected", "stopped_by", "tests", "learners", "updates",
                            "cycles", "staleness", "final_accuracy", "best_accuracy"):
                    self.assertEqual(a[key], b[key], key)
                # Some answers of evaluators were still on their way when the run ended.
                self.assertLessEqual(b["models_exchanged"], a["models_exchanged"])
                self.assertGreaterEqual(b["models_exchanged"], a["models_exchanged"] * 0.9)

    def test_a_page_holds_what_was_recorded(self):
        said = self.done("report", "runs", "--out", "page.html", "--title", "A </script> & <b>")
        self.assertRegex(said, r"^4 runs in 2 groups, [\d.]+ [kM]B; open it in a browser:\npage\.html\n$")
        self.assertEqual([file.name for file in self.home.glob("page*")], ["page.html"])
        data = self.data_of("page.html")
        self.assertEqual(data["title"], "A </script> & <b>")
        self.assertIn("<title>A &lt;/script&gt; &amp; &lt;b&gt;</title>",
                      (self.home / "page.html").read_text())
        self.assertRegex(data["program"], r"^metis \d+\.\d+\.\d+$")
        self.assertLessEqual(len(data["target_accuracies"]), 3)
        self.assertEqual([g["policy"] for g in data["groups"]], sorted(POLICIES))
        for group in data["groups"]:
            self.assertEqual([run["seed"] for run in group["runs"]], sorted(SEEDS))
            for run in group["runs"]:
                self.check_run(run, self.summary(run["seed"], group["policy"]))

    def check_run(self, run, summary):
        self.assertTrue(run["complete"])
        for ours, theirs in (("requests", "update_requests"), ("rejected", "updates_rejected"),
                             ("models_exchanged", "models_exchanged"), ("length_s", "length_s"),
                             ("models_for_evaluation", "models_for_evaluation"),
                             ("bytes_sent", "bytes_sent"), ("stopped_by", "stopped_by")):
            self.assertEqual(run[ours], summary[theirs], ours)
        self.assertEqual(run["final_accuracy"], summary["accuracy"]["final"])
        self.assertEqual(run["best_accuracy"], summary["accuracy"]["best"])
        for column in ("t_s", "requests", "accuracy"):
            self.assertEqual(run["tests"][column], [test[column] for test in summary["tests"]])
        for recalls, accuracy in zip(run["tests"]["class_accuracy"], run["tests"]["accuracy"]):
            self.assertEqual(len(recalls), 10)
            self.assertAlmostEqual(statistics.mean(recalls), accuracy, delta=0.05)
        self.assertEqual(len(run["updates"]["t_s"]), summary["update_requests"])
        for learner, theirs in zip(run["learners"], summary["learners"], strict=True):
            for key in ("learner", "name", "group", "training_examples", "validation_examples",
                        "updates", "epochs", "median_staleness"):
                self.assertEqual(learner[key], theirs[key], key)
            self.assertEqual(run["updates"]["learner"].count(learner["learner"]), theirs["updates"])
        self.assertEqual([each["group"] for each in run["staleness"]], ["fast", "slow"])
        adaptive = "adaptive" in run["directory"]
        self.assertEqual([each["group"] for each in run["cycles"]], ["fast", "slow"] if adaptive else [])
        for each in run["cycles"]:
            for cycle in each["cycles"]:
                self.assertGreaterEqual(len(cycle["losses"]), 2)
                self.assertIn(cycle["reason"], ("C1", "C2", "C3", "max-epochs"))

    def test_a_page_is_written_beside_what_was_asked_for_first(self):
        self.assertTrue(self.done("report", "runs/4").endswith("\nruns/4/report.html\n"))
        self.assertEqual(self.data_of("runs/4/report.html")["title"], "runs/4")
        self.done("report", "runs/4")  # and again

    def test_obvious_mistakes_are_explained(self):
        (self.home / "empty").mkdir()
        for command in ("compare", "report"):
            self.assertIn("nowhere does not exist", self.refusal(command, "runs", "nowhere"))
            self.assertIn("there is no run in empty", self.refusal(command, "empty"))
            self.assertIn("config.toml is a file", self.refusal(command, "runs/4/sync-dvw/config.toml"))
            self.assertIn("RUN is required", self.refusal(command, code=2))
            for target in ("60", "nan"):
                self.assertIn(f'--target: "{target}"',
                              self.refusal(command, "runs", "--target", target, code=2))
            targets = [word for target in "1234" for word in ("--target", f"0.{target}")]
            self.assertIn("at most 3", self.refusal(command, "runs", *targets))
        self.assertIn("excludes", self.refusal("compare", "runs", "--json", "--csv", code=2))
        self.assertIn("--out runs is a directory", self.refusal("report", "runs/4", "--out", "runs"))
        self.assertIn("must end in .html", self.refusal("report", "runs", "--out", "runs/4/x.json"))
        self.assertIn("No such file", self.refusal("report", "runs", "--out", "no/where.html"))
        events = self.home / "runs/4/sync-dvw/events.jsonl"
        lines = events.read_text().splitlines(keepends=True)
        events.write_text("".join(lines[:2] + ["{broken\n"] + lines[3:]))
        self.assertIn("runs/4/sync-dvw/events.jsonl:3: ", self.refusal("compare", "runs"))

    def test_help_has_examples_and_the_front_lists_both(self):
        listed = self.done("help")
        for command in ("compare", "report"):
            self.assertRegex(listed, rf"(?m)^  {command} +\w")
            said = self.done(command, "--help")
            self.assertIn("Examples:\n", said)
            self.assertIn(f"  metis {command} runs", said)


if __name__ == "__main__":
    unittest.main()
