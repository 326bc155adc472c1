"""`metis model`, as a user types it.

Usage: model_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import struct
import unittest

from learning import LearningTest, write_images


class ModelTest(LearningTest):
    def test_every_command_has_help_with_an_example(self):
        for word in ("init", "info", "export", "import"):
            self.assertIn(f"Example:\n  metis model {word}", self.done("model", word, "--help"))
        self.assertIn("Example:\n  metis model init", self.done("model", "--help"))

    def test_a_model_begins_with_the_size_that_its_architecture_has(self):
        for name, shape, classes, parameters in (
                ("mnist-cnn", "1x28x28", 10, 215_370),
                ("cifar10-cnn", "3x32x32", 10, 1_068_298),
                ("resnet-cifar:50", "3x32x32", 100, None),
                ("logistic", "20", 3, 63)):
            self.done("model", "init", name, "--shape", shape, "--classes", classes, "--force")
            info = self.told("model", "info", "model.metis")
            self.assertEqual(info["facts"]["architecture"], name)
            self.assertEqual(info["facts"]["classes"], str(classes))
            self.assertEqual(info["parameters"], sum(t["parameters"] for t in info["tensors"]))
            if parameters:
                self.assertEqual(info["parameters"], parameters, name)

    def test_a_known_data_set_need_not_be_here(self):
        info = self.told("model", "init", "mnist-cnn", "--dataset", "fashion-mnist")
        self.assertEqual(info["facts"]["example"], "1x28x28")
        self.assertEqual(info["parameters"], 215_370)
        info = self.told("model", "init", "logistic", "--dataset", "cifar100", "--coarse-labels",
                         "--out", "coarse.metis")
        self.assertEqual((info["facts"]["example"], info["facts"]["classes"]), ("3x32x32", "20"))

    def test_a_file_of_data_says_what_the_model_is_for(self):
        write_images(self.home / "images.npz")
        info = self.told("model", "init", "logistic", "--dataset", "images.npz")
        self.assertEqual((info["facts"]["example"], info["facts"]["classes"]), ("1x8x8", "3"))

    def test_the_seed_decides_the_values_bit_for_bit(self):
        prints = []
        for seed in (7, 7, 8):
            info = self.told("model", "init", "mlp:16", "--shape", "20", "--classes", 3,
                             "--seed", seed, "--force")
            self.assertEqual(info["facts"]["seed"], str(seed))
            prints.append(info["fingerprint"])
        self.assertEqual(prints[0], prints[1])
        self.assertNotEqual(prints[0], prints[2])

    def test_info_is_a_table_for_people(self):
        self.done("model", "init", "mlp:16", "--shape", "20", "--classes", 3)
        said = self.done("model", "info", "model.metis")
        self.assertRegex(said, r"(?m)^architecture +mlp:16$")
        self.assertRegex(said, r"(?m)^parameters +387$")
        self.assertRegex(said, r"(?m)^fingerprint +[0-9a-f]{16}$")
        self.assertRegex(said, r"(?m)^fc1\.weight +16x20 +320$")

    def test_the_file_reads_as_the_page_about_it_says(self):
        info = self.told("model", "init", "mlp:16", "--shape", "20", "--classes", 3)
        content = (self.home / "model.metis").read_bytes()
        magic, version, _, header, parameters = struct.unpack("<8sIIQQ", content[:32])
        self.assertEqual((magic, version, parameters), (b"metismdl", 1, info["parameters"]))
        offset = (48 + header + 63) // 64 * 64
        values = struct.unpack(f"<{parameters}f", content[offset:])
        self.assertEqual(max(map(abs, values)), struct.unpack(
            "<f", struct.pack("<f", info["largest_magnitude"]))[0])
        self.assertEqual(struct.unpack("<Q", content[40:48])[0], int(info["fingerprint"], 16))

    def test_statistics_of_batches_can_stay_out_of_the_model(self):
        shared = self.told("model", "init", "resnet-cifar:8", "--shape", "3x16x16", "--classes", 4)
        local = self.told("model", "init", "resnet-cifar:8", "--shape", "3x16x16", "--classes", 4,
                          "--local-statistics", "--out", "local.metis")
        self.assertIn("bn1.running_mean", [t["name"] for t in shared["tensors"]])
        self.assertNotIn("bn1.running_mean", [t["name"] for t in local["tensors"]])
        self.assertEqual(local["facts"]["share_statistics"], "false")

    def test_a_model_survives_the_way_to_pt_and_back(self):
        before = self.told("model", "init", "mlp:16", "--shape", "20", "--classes", 3)
        self.done("model", "export", "model.metis", "model.pt")
        like = self.told("model", "import", "model.pt", "--like", "model.metis", "--out", "a.metis")
        self.assertEqual(like["fingerprint"], before["fingerprint"])
        self.assertEqual(like["facts"], {**before["facts"], "imported_from": "model.pt"})
        named = self.told("model", "import", "model.pt", "--model", "mlp:16", "--shape", "20",
                          "--classes", 3, "--out", "b.metis")
        self.assertEqual(named["fingerprint"], before["fingerprint"])
        self.assertNotIn("seed", named["facts"])
        said = self.refusal("model", "import", "model.pt", "--model", "mlp:17", "--shape", "20",
                            "--classes", 3, "--out", "c.metis")
        self.assertIn("model.pt: tensor fc1.weight is 16x20 in the file, 17x20 in the model", said)

    def test_nothing_is_overwritten_unasked(self):
        self.done("model", "init", "logistic", "--shape", "20", "--classes", 3)
        before = (self.home / "model.metis").read_bytes()
        said = self.refusal("model", "init", "logistic", "--shape", "20", "--classes", 4)
        self.assertIn("model.metis already exists: choose another file, or --force", said)
        self.assertIn("already exists", self.refusal("model", "export", "model.metis", "model.metis"))
        self.assertEqual((self.home / "model.metis").read_bytes(), before)
        self.done("model", "init", "logistic", "--shape", "20", "--classes", 4, "--force")
        self.assertNotEqual((self.home / "model.metis").read_bytes(), before)

    def test_a_wrong_command_line_is_wrong_usage(self):
        for arguments in ([], ["innit"], ["init"], ["init", "mlp"], ["init", "mlp", "--shape", "20"],
                          ["init", "mlp", "--classes", "3"], ["info"], ["import", "a.pt"],
                          ["import", "a.pt", "--model", "mlp"],
                          ["import", "a.pt", "--like", "b", "--model", "mlp"],
                          ["import", "a.pt", "--like", "b", "--dataset", "mnist"],
                          ["init", "mlp", "--dataset", "mnist", "--seed", "-1"]):
            self.assertIn("--help", self.refusal("model", *arguments, code=2))

    def test_mistakes_are_named_with_the_way_out(self):
        kind = ["--shape", "1x28x28", "--classes", "10"]
        self.assertIn("mnist-cnn", self.refusal("model", "init", "mnist-cn", *kind))
        self.assertIn("6n+2", self.refusal("model", "init", "resnet-cifar:51", *kind))
        self.assertIn('did you mean "mnist"?',
                      self.refusal("model", "init", "mlp", "--dataset", "mnits"))
        self.assertIn("is no shape of examples", self.refusal(
            "model", "init", "mlp", "--shape", "28x", "--classes", 10))
        self.assertIn("there is no such file",
                      self.refusal("model", "init", "torchscript:absent.pt", *kind))
        self.assertIn("nowhere/model.metis", self.refusal(
            "model", "init", "mlp", *kind, "--out", "nowhere/model.metis"))
        (self.home / "text.metis").write_text("no model at all, but long enough to be read as one")
        self.assertIn("this is no model file of Metis", self.refusal("model", "info", "text.metis"))
        self.assertIn("absent.metis", self.refusal("model", "info", "absent.metis"))
        (self.home / "text.pt").write_text("no tensors")
        self.done("model", "init", "mlp", *kind)
        self.assertIn("torch.save(model.state_dict(), path)", self.refusal(
            "model", "import", "text.pt", "--like", "model.metis", "--out", "new.metis"))

    def test_a_damaged_file_is_found_out(self):
        self.done("model", "init", "logistic", "--shape", "20", "--classes", 3)
        file = self.home / "model.metis"
        content = bytearray(file.read_bytes())
        content[-10] ^= 1
        file.write_bytes(content)
        self.assertIn("do not match their checksum", self.refusal("model", "info", "model.metis"))
        file.write_bytes(content[:-4])
        self.assertIn("cut off or damaged", self.refusal("model", "info", "model.metis"))


if __name__ == "__main__":
    unittest.main()
