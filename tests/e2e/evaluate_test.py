"""`metis evaluate`, as a user types it.

Usage: evaluate_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import json
import shutil
import struct
import unittest

from learning import LearningTest, write_images


class EvaluateTest(LearningTest):
    @classmethod
    def setUpClass(cls):
        """One training serves all tests."""
        trained = LearningTest()
        trained.setUp()
        cls.addClassCleanup(trained.doCleanups)
        trained.write_data()
        trained.done("train", "--model", "mlp:16", "--dataset", "train.npz", "--test-file", "test.npz",
                     "--epochs", 5, "--batch", 16)
        cls.trained = trained.home

    def setUp(self):
        super().setUp()
        shutil.copytree(self.trained, self.home, dirs_exist_ok=True)

    def test_says_what_the_training_said(self):
        summary = json.loads((self.home / "runs/train/summary.json").read_text())
        told = self.told("evaluate", "runs/train/final.metis", "test.npz")
        self.assertEqual(told["accuracy"], summary["accuracy"]["final"])
        self.assertEqual(told["micro_f1"], told["accuracy"])
        self.assertAlmostEqual(told["loss"], summary["loss"]["test"], places=6)
        self.assertEqual([c["recall"] for c in told["classes"]],
                         [c["recall"] for c in summary["classes"]])
        self.assertEqual([sum(row) for row in told["confusion"]], [30, 20, 15])
        right = sum(told["confusion"][i][i] for i in range(3))
        self.assertEqual(told["accuracy"], right / 65)

    def test_prints_scores_classes_and_matrix(self):
        said = self.done("evaluate", "runs/train/final.metis", "test.npz")
        self.assertRegex(said, r"(?m)^accuracy +\d\.\d{4}$")
        self.assertRegex(said, r"(?m)^Matthews +\d\.\d{4}$")
        self.assertRegex(said, r"(?m)^ +2  2 +15 +\d\.\d{3} +\d\.\d{3} +\d\.\d{3}$")
        self.assertRegex(said, r"(?m)^actual \\ predicted +0 +1 +2$")

    def test_many_classes_show_the_most_frequent_mistakes(self):
        write_images(self.home / "many.npz", counts=[3] * 30, side=30)
        self.done("model", "init", "logistic", "--dataset", "many.npz")
        said = self.done("evaluate", "model.metis", "many.npz", "--matrix", "many.svg")
        self.assertRegex(said, r"The most frequent of \d+ kinds of mistakes:\nactual  taken for")
        self.assertNotIn("actual \\ predicted", said)
        self.assertTrue((self.home / "many.svg").read_text().endswith("</svg>\n"))

    def test_draws_the_matrix(self):
        self.done("evaluate", "runs/train/final.metis", "test.npz", "--matrix", "matrix.svg")
        picture = (self.home / "matrix.svg").read_text()
        self.assertTrue(picture.startswith("<svg "))
        self.assertIn("prefers-color-scheme:dark", picture)
        self.assertIn("mlp:16 on test.npz", picture)
        self.assertIn("--matrix a.jpg", self.refusal("evaluate", "runs/train/final.metis",
                                                     "test.npz", "--matrix", "a.jpg", code=2))

    def test_mistakes_are_named_with_the_way_out(self):
        model = "runs/train/final.metis"
        self.assertIn("absent.metis", self.refusal("evaluate", "absent.metis", "test.npz"))
        self.assertIn("no model file of Metis", self.refusal("evaluate", "test.npz", "test.npz"))
        self.assertIn("there is no such file", self.refusal("evaluate", model, "absent.npz"))
        self.assertIn("without parts", self.refusal("evaluate", model, "test.npz", "--part", "test"))
        write_images(self.home / "large.npz", side=9)
        self.assertIn("large.npz has 1x9x9", self.refusal("evaluate", model, "large.npz"))
        self.assertIn("was it made for another architecture",
                      self.refusal("evaluate", model, "test.npz", "--model", "mlp:17"))
        self.assertIn("the model file comes first", self.refusal("evaluate", "mnist", model))
        self.refusal("evaluate", model, code=2)

    def test_a_known_set_has_parts(self):
        directory = self.home / ".local/share/metis/data/mnist"
        directory.mkdir(parents=True)
        for word, count in (("train", 60000), ("t10k", 10000)):
            lengths = struct.pack(">IIII", 0x803, count, 28, 28)
            (directory / f"{word}-images-idx3-ubyte").write_bytes(lengths + bytes(count * 784))
            labels = bytes(7 if i % 4 == 0 else 2 for i in range(count))
            (directory / f"{word}-labels-idx1-ubyte").write_bytes(
                struct.pack(">II", 0x801, count) + labels)
        self.done("model", "init", "logistic", "--dataset", "mnist")
        for arguments, examples in (([], 10000), (["--part", "test"], 10000),
                                    (["--part", "train"], 60000)):
            told = self.told("evaluate", "model.metis", "mnist", *arguments)
            self.assertEqual(told["examples"], examples)
            self.assertEqual(told["classes"][7]["examples"], examples // 4)

    def test_help_has_an_example(self):
        self.assertIn("Examples:\n  metis evaluate ", self.done("evaluate", "--help"))


if __name__ == "__main__":
    unittest.main()
