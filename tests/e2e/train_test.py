"""`metis train`, as a user types it.

Usage: train_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import json
import os
import random
import signal
import struct
import subprocess
import time
import tomllib
import unittest

from learning import BIN, COUNTS, LearningTest, write_images


class TrainTest(LearningTest):
    def setUp(self):
        super().setUp()
        self.write_data()

    def train(self, *arguments):
        return self.done("train", "--model", "mlp:16", "--dataset", "train.npz",
                         "--test-file", "test.npz", *arguments)

    def summary(self, directory="runs/train"):
        return json.loads((self.home / directory / "summary.json").read_text())

    def lines(self, directory="runs/train"):
        text = (self.home / directory / "epochs.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def test_a_network_learns_and_the_run_is_recorded(self):
        said = self.done("train", "--model", "mnist-cnn", "--dataset", "train.npz",
                         "--test-file", "test.npz", "--epochs", 6, "--batch", 20)
        self.assertRegex(said, r"learning rate 0\.05 \(default of the model\), momentum 0\.75 "
                               r"\(default\), batch 20, fp32, seed 1990")
        self.assertRegex(said, r"(?m)^    6 +0\.\d{4} +0\.\d{4} +\d\.\d{4} ")
        summary = self.summary()
        self.assertGreater(summary["accuracy"]["final"], 0.8)  # chance is 0.46
        self.assertTrue(summary["complete"])
        self.assertEqual((summary["epochs"], summary["stopped_by"]), (6, "epochs"))
        self.assertEqual((summary["training_examples"], summary["test_examples"]),
                         (sum(COUNTS), 65))
        self.assertEqual([c["examples"] for c in summary["classes"]], [30, 20, 15])
        lines = self.lines()
        self.assertEqual([line["epoch"] for line in lines], [1, 2, 3, 4, 5, 6])
        self.assertLess(lines[-1]["training_loss"], lines[0]["training_loss"])
        best = max(lines, key=lambda line: line["test"]["accuracy"])
        self.assertEqual(summary["accuracy"]["best"], best["test"]["accuracy"])
        self.assertEqual(summary["accuracy"]["best_epoch"], best["epoch"])
        self.assertEqual(summary["fingerprints"]["best"], best["model"])
        schema = json.loads((self.home / "runs/train/schema.json").read_text())
        self.assertEqual(schema["initial_fingerprint"], summary["fingerprints"]["initial"])
        for name in ("final", "best"):
            info = self.told("model", "info", f"runs/train/{name}.metis")
            self.assertEqual(info["fingerprint"], summary["fingerprints"][name])
            self.assertEqual(info["schema_hash"], schema["hash"])
            self.assertEqual(info["facts"]["dataset"], "train.npz")

    def test_the_networks_of_the_paper_learn_from_its_formats(self):
        """CIFAR-100's records with a residual network, 62 classes of IDX with FEMNIST's network."""
        draw = random.Random(5)
        records, images, labels = bytearray(), bytearray(), bytearray()
        for i in range(160):
            fine = (i % 8) * 12
            records += bytes([fine // 5, fine])
            for channel in range(3):
                lit = 90 * (fine // 12 >> channel & 1)
                records += bytes(draw.randrange(120) + lit for _ in range(1024))
            label = i % 4 * 20 + 1
            labels.append(label)
            for row in range(28):
                lit = row // 7 == i % 4
                images += bytes(draw.randrange(120) + (130 if lit else 0) for _ in range(28))
        (self.home / "train.bin").write_bytes(records)
        (self.home / "letters-images-idx3-ubyte").write_bytes(
            struct.pack(">IIII", 0x803, 160, 28, 28) + images)
        labels[-1] = 61  # the last of 62 classes
        (self.home / "letters-labels-idx1-ubyte").write_bytes(
            struct.pack(">II", 0x801, 160) + labels)
        for model, dataset in [("resnet-cifar:50", "train.bin"),
                               ("femnist-cnn", "letters-images-idx3-ubyte")]:
            self.done("train", "--model", model, "--dataset", dataset, "--epochs", 3, "--batch", 16,
                      "--learning-rate", 0.02, "--out", model)
            losses = [line["training_loss"] for line in self.lines(model)]
            self.assertLess(losses[-1], 0.8 * losses[0], model)

    def test_the_settings_are_recorded_whole(self):
        self.train("--epochs", 1, "--seed", 4, "--validation", 0.2, "--momentum", 0)
        settings = tomllib.loads((self.home / "runs/train/config.toml").read_text())
        self.assertEqual(settings["train"], {"model": "mlp:16", "init": "", "epochs": 1, "seed": 4})
        self.assertEqual(settings["data"]["test_file"], "test.npz")
        self.assertEqual(settings["training"], {
            "learning_rate": 0.05, "momentum": 0, "batch_size": 100, "validation_fraction": 0.2,
            "precision": "fp32", "augmentation": False})

    def test_the_same_seed_gives_the_same_bits_and_another_seed_others(self):
        for out, seed in (("a", 7), ("b", 7), ("c", 8)):
            self.train("--epochs", 3, "--seed", seed, "--out", out, "--batch", 16)
        prints = [[line["model"] for line in self.lines(out)] for out in "abc"]
        self.assertEqual(prints[0], prints[1])
        self.assertEqual(len(set(prints[0] + prints[2])), 6)
        self.assertEqual(self.summary("a")["fingerprints"], self.summary("b")["fingerprints"])
        self.assertNotEqual(self.summary("a")["fingerprints"], self.summary("c")["fingerprints"])

    def test_a_share_of_a_file_tests_and_another_validates(self):
        said = self.done("train", "--model", "logistic", "--dataset", "train.npz", "--test", 0.3,
                         "--validation", 0.1, "--epochs", 2)
        summary = self.summary()
        parts = [summary[f"{part}_examples"] for part in ("training", "validation", "test")]
        self.assertEqual(sum(parts), sum(COUNTS))
        self.assertEqual(parts[2], 27 + 18 + 11)  # of each class to the nearest
        self.assertIn("validation", said)
        self.assertEqual(summary["accuracy"]["best_by"], "validation")
        self.assertIn("validation", self.lines()[0])
        self.done("train", "--model", "logistic", "--dataset", "train.npz", "--epochs", 1, "--force")
        self.assertEqual(self.summary()["test_examples"], 18 + 12 + 7)  # a fifth

    def test_training_goes_on_from_a_model_file(self):
        self.done("model", "init", "mlp:16", "--dataset", "train.npz", "--seed", 5)
        begun = self.told("model", "info", "model.metis")
        self.done("train", "--init", "model.metis", "--dataset", "train.npz", "--epochs", 1)
        self.assertEqual(self.summary()["model"], "mlp:16")
        self.assertEqual(self.summary()["fingerprints"]["initial"], begun["fingerprint"])
        facts = self.told("model", "info", "runs/train/final.metis")["facts"]
        self.assertEqual((facts["seed"], facts["training_seed"]), ("5", "1990"))
        said = self.refusal("train", "--init", "model.metis", "--model", "mlp:17", "--dataset",
                            "train.npz", "--out", "other")
        self.assertIn("model.metis: the model has 4 tensors", said)
        self.assertFalse((self.home / "other").exists())

    def test_an_interrupted_run_keeps_the_epochs_until_then(self):
        environment = dict(os.environ, HOME=str(self.home))
        with subprocess.Popen([str(BIN / "metis"), "train", "--model", "mnist-cnn", "--dataset",
                               "train.npz", "--epochs", "100000"], cwd=self.home, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True) as run:
            record = self.home / "runs/train/epochs.jsonl"
            while run.poll() is None and not (record.exists() and
                                              record.read_text().count("\n") >= 2):
                time.sleep(0.02)
            run.send_signal(signal.SIGINT)
            said, _ = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 1)
        self.assertIn("Interrupted.", said)
        summary = self.summary()
        self.assertEqual((summary["complete"], summary["stopped_by"]), (False, "interrupted"))
        self.assertEqual(summary["epochs"], len(self.lines()))
        info = self.told("model", "info", "runs/train/final.metis")
        self.assertEqual(info["fingerprint"], self.lines()[-1]["model"])

    def test_a_learning_rate_that_is_too_large_is_named(self):
        run = self.metis("train", "--model", "mlp:16", "--dataset", "train.npz", "--learning-rate",
                         1e30, "--epochs", 9)
        self.assertEqual(run.returncode, 1)
        self.assertIn("try a smaller --learning-rate", run.stderr)
        self.assertEqual(self.summary()["stopped_by"], "diverged")
        self.assertEqual(self.summary()["loss"]["training"], "nan")

    def test_an_existing_run_is_not_overwritten_unasked(self):
        self.train("--epochs", 1)
        said = self.refusal("train", "--model", "mlp:16", "--dataset", "train.npz")
        self.assertIn("runs/train already holds a run: choose another --out, or --force", said)
        self.train("--epochs", 2, "--force")
        self.assertEqual(self.summary()["epochs"], 2)
        (self.home / "other").mkdir()
        (self.home / "other/precious.txt").write_text("mine")
        said = self.refusal("train", "--model", "mlp:16", "--dataset", "train.npz", "--out",
                            "other", "--force")
        self.assertIn("other holds other files", said)

    def test_mistakes_are_named_with_the_way_out(self):
        def refused(*arguments, code=1):
            return self.refusal("train", *arguments, code=code)

        self.assertIn("which model", refused("--dataset", "train.npz", code=2))
        self.assertIn("--dataset", refused("--model", "mlp", code=2))
        self.assertIn("has a test part", refused("--model", "mlp", "--dataset", "mnist", "--test",
                                                 0.2, code=2))
        self.assertIn('did you mean "cifar10"?', refused("--model", "mlp", "--dataset", "cifar01"))
        self.assertIn("Bring it here: metis data fetch cifar10\n",
                      refused("--model", "mlp", "--dataset", "cifar10"))
        self.assertIn("must be above 0",
                      refused("--model", "mlp", "--dataset", "train.npz", "--learning-rate", -1,
                              code=2))
        for option in ("--seed", "--epochs", "--batch"):
            self.assertIn(f'{option}: "-1": must be a whole number',
                          refused("--model", "mlp", "--dataset", "train.npz", option, -1, code=2))
        self.assertIn("mnist-cnn", refused("--model", "mnist-cn", "--dataset", "train.npz"))
        self.assertIn("needs images of at least 24x24",
                      refused("--model", "cifar10-cnn", "--dataset", "train.npz"))
        self.assertIn("for colour images",
                      refused("--model", "mlp", "--dataset", "train.npz", "--augment"))
        self.assertIn("absent.metis", refused("--init", "absent.metis", "--dataset", "train.npz"))
        write_images(self.home / "large.npz", side=9)
        self.assertIn("large.npz has 1x9x9", refused("--model", "mlp", "--dataset", "train.npz",
                                                    "--test-file", "large.npz"))
        self.assertIn("is a file", refused("--model", "mlp", "--dataset", "train.npz", "--out",
                                           "train.npz"))
        self.assertFalse((self.home / "runs").exists())

    def test_json_for_machines_and_help_with_an_example(self):
        told = json.loads(self.train("--epochs", 1, "--json"))
        self.assertEqual(told, self.summary())
        self.assertIn("Examples:\n  metis train ", self.done("train", "--help"))


if __name__ == "__main__":
    unittest.main()
