"""`metis simulate` on data of one's own, trained with libtorch.

Usage: simulate_real_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import json
import random
import signal
import tomllib
import unittest

from learning import LearningTest, write_images

# Learners with a few dozen images each.
SMALL = ["--dataset", "images.npz", "--model", "mlp:16", "--learners", "4", "--rounds", "3",
         "--set", "training.batch_size=10", "--set", "trigger.local_epochs=2"]


class SimulateRealTest(LearningTest):
    def setUp(self):
        super().setUp()
        write_images(self.home / "images.npz", counts=(200, 140, 100))

    def summary(self, directory):
        return json.loads((self.home / directory / "summary.json").read_text())

    def test_learns_and_is_the_same_with_any_number_of_threads(self):
        for threads in (1, 2):
            self.done("simulate", *SMALL, "--policy", "sync-dvw", "--threads", threads, "--out",
                      f"run{threads}")
        one, two = self.summary("run1"), self.summary("run2")
        self.assertEqual(one, two)
        self.assertGreater(one["accuracy"]["final"], 0.6)  # the largest class is 0.45
        self.assertEqual((self.home / "run1/events.jsonl").read_bytes(),
                         (self.home / "run2/events.jsonl").read_bytes())

    def test_adaptive_learners_train_on_threads_too(self):
        options = [*SMALL[:-8], "--learners", "4", "--set", "training.batch_size=10",
                   "--duration", "120s", "--policy", "async-dvw-adaptive",
                   "--set", "trigger.max_epochs=6"]
        for threads in (1, 3):
            self.done("simulate", *options, "--threads", threads, "--out", f"run{threads}")
        self.assertEqual(self.summary("run1"), self.summary("run3"))
        self.assertGreater(self.summary("run1")["update_requests"], 5)

    def test_a_learner_with_wrong_labels_counts_little_under_dvw(self):
        self.done("simulate", *SMALL, "--policy", "sync-dvw", "--sizes", "skewed", "--faulty",
                  "0:labels=constant:2", "--set", "validation.metric=matthews", "--out", "run")
        learners = self.summary("run")["learners"]
        counted = {learner["name"]: learner["contribution"] for learner in learners}
        self.assertLess(counted["learner-0"], 0.5 * counted["learner-1"])

    def test_the_final_and_the_best_model_are_kept(self):
        self.done("simulate", *SMALL, "--policy", "sync-fedavg", "--out", "run")
        final = self.told("model", "info", "run/final.metis")["facts"]
        best = self.told("model", "info", "run/best.metis")["facts"]
        self.assertEqual(final["version"], "3")
        self.assertEqual(final["architecture"], "mlp:16")
        self.assertEqual(float(best["accuracy"]), self.summary("run")["accuracy"]["best"])
        evaluated = self.told("evaluate", "run/best.metis", "images.npz")
        self.assertGreater(evaluated["accuracy"], 0.6)

    def test_an_interrupted_run_goes_on_as_if_it_had_not_been(self):
        options = ["--dataset", "images.npz", "--model", "mlp:16", "--learners", "4", "--duration",
                   "600s", "--policy", "async-dvw", "--set", "training.batch_size=10"]
        self.done("simulate", *options, "--out", "whole")
        self.assertFalse((self.home / "whole/work.bin").exists())
        process = self.start("simulate", *options, "--out", "cut")
        self.wait_until(lambda: self.size("cut/work.bin") > 200_000)
        process.kill()
        process.wait()
        before = self.size("cut/work.bin")
        self.assertFalse((self.home / "cut/summary.json").exists())
        resumed = self.start("simulate", "--resume", "cut", "--threads", 1)
        self.wait_until(lambda: self.size("cut/work.bin") > before + 200_000)
        resumed.send_signal(signal.SIGINT)
        said = resumed.communicate(timeout=60)[1]
        self.assertEqual(resumed.returncode, 1)
        self.assertIn("metis simulate --resume cut goes on", said)
        self.assertFalse(self.summary("cut")["complete"])
        self.done("simulate", "--resume", "cut")
        for name in ("events.jsonl", "summary.json", "final.metis", "best.metis", "partition.json"):
            self.assertEqual((self.home / "whole" / name).read_bytes(),
                             (self.home / "cut" / name).read_bytes(), name)
        self.assertFalse((self.home / "cut/work.bin").exists())
        again = self.metis("simulate", "--resume", "cut")
        self.assertEqual(again.returncode, 0)
        self.assertIn("cut is complete", again.stderr)

    def test_what_cannot_be_resumed_is_named(self):
        self.assertIn("does not exist", self.refusal("simulate", "--resume", "nowhere"))
        self.assertIn("--resume", self.refusal("simulate", "--resume", "cut", "--seed", "3", code=2))
        process = self.start("simulate", *SMALL[:-8], "--learners", "4", "--duration", "4h",
                             "--policy", "async-fedavg", "--no-journal", "--out", "cut")
        self.wait_until(lambda: self.size("cut/events.jsonl") > 0)
        process.send_signal(signal.SIGINT)
        self.assertNotIn("goes on", process.communicate(timeout=60)[1])
        self.assertIn("metis simulate cut/config.toml --out cut --force",
                      self.refusal("simulate", "--resume", "cut"))

    def test_a_run_does_not_go_on_with_other_data(self):
        draw = random.Random(3)
        rows = [f"{draw.gauss(k % 3, 1):.3f},{draw.gauss(0, 1):.3f},{k % 3}" for k in range(120)]
        data = self.home / "train.csv"

        def write(changed):
            data.write_text("a,b,label\n" + "\n".join([*rows[:-1], changed]) + "\n")

        write(rows[-1])
        process = self.start("simulate", "--dataset", "train.csv", "--model", "mlp:8", "--learners",
                             "3", "--duration", "20h", "--policy", "async-fedavg", "--out", "cut")
        self.wait_until(lambda: self.size("cut/work.bin") > 20_000)
        process.kill()
        process.wait()
        write("9.5" + rows[-1][rows[-1].index(","):])
        said = self.refusal("simulate", "--resume", "cut")
        self.assertIn("configuration or data", said)
        self.assertIn("metis simulate cut/config.toml --out cut --force", said)
        write(rows[-1])  # whoever brings them back
        resumed = self.start("simulate", "--resume", "cut")
        before = self.size("cut/work.bin")
        self.wait_until(lambda: self.size("cut/work.bin") > before)
        resumed.send_signal(signal.SIGINT)
        self.assertIn("goes on", resumed.communicate(timeout=60)[1])

    def test_work_of_a_replaced_run_does_not_stay_behind(self):
        self.done("simulate", *SMALL, "--policy", "sync-fedavg", "--out", "run")
        (self.home / "run/work.bin").write_bytes(b"work of the run that is replaced")
        self.done("simulate", *SMALL, "--policy", "sync-fedavg", "--no-journal", "--force", "--out",
                  "run")
        self.assertFalse((self.home / "run/work.bin").exists())

    def test_slow_machines_are_as_slow_as_asked(self):
        self.done("simulate", *SMALL, "--policy", "sync-fedavg", "--slow", "1", "--slowdown", "30",
                  "--out", "run")
        groups = tomllib.loads((self.home / "run/config.toml").read_text())["group"]
        self.assertEqual([(g["name"], g["learners"], g["batch_time"]) for g in groups],
                         [("fast", 3, "100ms"), ("slow", 1, "3s")])

    def test_who_holds_what_is_in_the_record(self):
        self.done("simulate", *SMALL, "--policy", "sync-dvw", "--sizes", "skewed", "--faulty",
                  "2:labels=random", "--examples", "300", "--test-examples", "60", "--out", "run")
        held = json.loads((self.home / "run/partition.json").read_text())
        dealt = sum(sum(each["class_counts"]) for each in held["learners"])
        self.assertAlmostEqual(dealt, 300, delta=4)  # whole examples of each class, none twice
        self.assertEqual([each["faulty"] for each in held["learners"]],
                         [None, None, "labels=random", None])
        last = self.summary("run")["tests"][-1]
        by_class = [27, 19, 14]  # 60 test examples of classes in the proportion 200 : 140 : 100
        correct = sum(n * part for n, part in zip(by_class, last["class_accuracy"]))
        self.assertAlmostEqual(correct / 60, last["accuracy"])

    def test_records_are_light_unless_asked(self):
        self.done("simulate", *SMALL, "--policy", "sync-fedavg", "--out", "light")
        refused = self.metis("replay", "light")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("--record replayable", refused.stderr)
        self.done("simulate", *SMALL, "--policy", "sync-fedavg", "--record", "replayable", "--out",
                  "whole")
        self.assertIn("as the run ended", self.done("replay", "whole"))

    def test_mistakes_are_named(self):
        for arguments, words in [
            (["--dataset", "fashion-mnits"], "did you mean"),
            (["--dataset", "images.npz", "--model", "mnits-cnn"], "did you mean \"mnist-cnn\"?"),
            (["--dataset", "images.npz", "--model", "cifar10-cnn"], "at least 24x24"),
            (["--dataset", "images.npz", "--faulty", "99:labels=random"], "99"),
            (["--dataset", "images.npz", "--examples", "100000"], "data.examples = 100000"),
            (["--dataset", "images.npz", "--test-examples", "4000"], "data.test_examples = 4000"),
            (["--dataset", "images.npz", "--slow", "11"], "learners"),
            (["--dataset", "images.npz", "--set", "training.augmentation=true"], "colour images"),
            (["--dataset", "images.npz", "--classes", "writers"], "writers"),
        ]:
            run = self.metis("simulate", *arguments, "--out", "none")
            self.assertEqual(run.returncode, 1, arguments)
            self.assertIn(words, run.stderr)
            self.assertFalse((self.home / "none").exists(), arguments)


if __name__ == "__main__":
    unittest.main()
