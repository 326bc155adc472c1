"""`metis simulate` on data of one's own, trained with libtorch.

Usage: simulate_real_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import json
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
            (["--dataset", "images.npz", "--set", "training.augmentation=true"], "colour images"),
            (["--dataset", "images.npz", "--classes", "writers"], "writers"),
        ]:
            run = self.metis("simulate", *arguments, "--out", "none")
            self.assertEqual(run.returncode, 1, arguments)
            self.assertIn(words, run.stderr)
            self.assertFalse((self.home / "none").exists(), arguments)


if __name__ == "__main__":
    unittest.main()
