"""`metis partition`, as a user types it.

Usage: partition_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import csv
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

BIN = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path("build/dev/bin").resolve()
SVG = "{http://www.w3.org/2000/svg}"


class PartitionTest(unittest.TestCase):
    def setUp(self):
        self._directory = tempfile.TemporaryDirectory()
        self.addCleanup(self._directory.cleanup)
        self.home = Path(self._directory.name)

    def partition(self, *arguments):
        return subprocess.run(
            [str(BIN / "metis"), "partition", *map(str, arguments)],
            cwd=self.home, env=dict(os.environ, HOME=str(self.home)),
            capture_output=True, text=True, timeout=120,
        )

    def deal(self, *arguments):
        run = self.partition(*arguments)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def described(self, *arguments):
        return json.loads(self.deal(*arguments, "--json"))

    def refusal(self, *arguments, code=1):
        run = self.partition(*arguments)
        self.assertEqual((run.returncode, run.stdout), (code, ""), run.stderr)
        self.assertTrue(run.stderr.startswith("metis: "), run.stderr)
        return run.stderr

    def write_data(self, pools=(60, 45, 30, 75)):
        """A data set with `pools[c]` examples of class c."""
        labels = [c for c, pool in enumerate(pools) for _ in range(pool)]
        (self.home / "m.csv").write_text("".join(f"{i},{c}\n" for i, c in enumerate(labels)))
        return "m.csv"

    def write_letters(self, sizes=(7, 31, 2, 16, 11, 1)):
        """IDX images of 3 classes by writers with so many examples each."""
        writers = [w for w, size in enumerate(sizes) for _ in range(size)]
        count = len(writers)
        header = bytes([0, 0, 8, 3]) + struct.pack(">3I", count, 1, 1)
        (self.home / "l-images-idx3-ubyte").write_bytes(header + bytes(count))
        labels = bytes([0, 0, 8, 1]) + struct.pack(">I", count) + bytes(i % 3 for i in range(count))
        (self.home / "l-labels-idx1-ubyte").write_bytes(labels)
        (self.home / "l-writers.txt").write_text("".join(f"w{w}\n" for w in writers))
        return "l-images-idx3-ubyte"

    def test_prints_a_table_of_learners_and_classes(self):
        out = self.deal(self.write_data(), "--learners", 3, "--sizes", "skewed")
        self.assertRegex(out, r"^learner  wanted  got  classes   0   1   2   3\n0 +105  105 +4 ")
        self.assertRegex(out, r"(?m)^total +210  210 +60  45  30  75$")
        self.assertIn("210 examples of 210 dealt to 3 learners (seed 1990).\n", out)
        self.assertNotIn("hortfall", out)
        self.assertNotIn("eft over", out)

    def test_says_shortfall_and_left_over_plainly(self):
        out = self.deal(self.write_data((40, 40, 40)), "--learners", 3, "--sizes", "skewed",
                        "--classes", "noniid:1")
        self.assertRegex(out, r"(?m)^0 +60   40 +1 ")
        self.assertRegex(out, r"(?m)^left over +20 ")
        self.assertIn("Shortfall: 20 examples that learners wanted could not be given", out)
        self.assertIn("Left over: 20 examples that no learner got.", out)
        described = self.described("m.csv", "--learners", 3, "--sizes", "skewed", "--classes", "noniid:1")
        self.assertEqual((described["shortfall"], described["left_over"], described["dealt"]), (20, 20, 100))
        self.assertEqual(sum(c["left_over"] for c in described["classes"]), 20)

    def test_the_seed_decides(self):
        arguments = (self.write_data(), "--learners", 4, "--classes", "dirichlet:0.3", "--json")
        self.assertEqual(self.deal(*arguments, "--seed", 7), self.deal(*arguments, "--seed", 7))
        self.assertNotEqual(self.deal(*arguments, "--seed", 7), self.deal(*arguments, "--seed", 8))

    def test_its_own_table_deals_the_same_counts(self):
        data = self.write_data()
        for classes in ("iid", "noniid:2", "noniid:3x1,1", "dirichlet:0.2"):
            first = self.described(data, "--learners", 5, "--sizes", "powerlaw", "--classes", classes,
                                   "--csv", "a.csv")
            again = self.described(data, "--classes", "table:a.csv", "--seed", 3, "--csv", "b.csv")
            self.assertEqual([row["class_counts"] for row in first["learners"]],
                             [row["class_counts"] for row in again["learners"]])
            self.assertEqual((self.home / "a.csv").read_text(), (self.home / "b.csv").read_text())
        rows = list(csv.reader((self.home / "a.csv").read_text().splitlines()))
        self.assertEqual(rows[0], ["learner", "0", "1", "2", "3"])
        self.assertEqual(len(rows), 6)

    def test_a_table_that_does_not_fit_is_refused(self):
        data = self.write_data()
        (self.home / "t.csv").write_text("learner,0,1\n0,5,x\n")
        self.assertIn('t.csv: line 2, column 3: "x"', self.refusal(data, "--classes", "table:t.csv"))
        (self.home / "t.csv").write_text("learner,1,0\n0,5,6\n")
        self.assertIn('column 2 is headed "1", but class 0', self.refusal(data, "--classes", "table:t.csv"))
        (self.home / "t.csv").write_text("1,2,3,4,5\n")
        self.assertIn("t.csv: column 5 is of class 4", self.refusal(data, "--classes", "table:t.csv"))
        (self.home / "t.csv").write_text("5,6\n7,8\n")
        self.assertIn("leave sizes out",
                      self.refusal(data, "--classes", "table:t.csv", "--sizes", "skewed"))
        self.assertIn("the table has 2 learners, not 3",
                      self.refusal(data, "--classes", "table:t.csv", "--learners", 3))

    def test_whole_writers_go_to_learners(self):
        data = self.write_letters()
        described = self.described(data, "--learners", 6, "--classes", "writers")
        self.assertEqual([row["examples"] for row in described["learners"]], [31, 16, 11, 7, 2, 1])
        self.assertEqual([row["writers"] for row in described["learners"]], [1] * 6)
        out = self.deal(data, "--learners", 2, "--classes", "writers")
        self.assertRegex(out, r"(?m)^0 +34   34  +\d ")
        self.assertIn("Whole writers: a learner got at most 0 more or 0 fewer examples", out)
        self.assertIn("6 writers cannot be dealt to 7 learners",
                      self.refusal(data, "--learners", 7, "--classes", "writers"))
        self.assertIn("who wrote each example", self.refusal(self.write_data(), "--classes", "writers"))

    def test_faulty_learners_and_validation_are_counted(self):
        described = self.described(self.write_data(), "--learners", 3, "--validation", "0.2",
                                   "--faulty", "1:labels=constant:0", "--faulty", "2:labels=random")
        fair, constant, random = described["learners"]
        self.assertEqual((fair["examples"], fair["training"] + fair["validation"]), (70, 70))
        self.assertEqual(fair["validation"], 14)
        self.assertNotIn("faulty", fair)
        self.assertEqual(constant["faulty"], "labels=constant:0")
        self.assertEqual(constant["labels_changed"], 70 - constant["class_counts"][0])
        self.assertTrue(30 < random["labels_changed"] < 70, random)
        out = self.deal("m.csv", "--learners", 3, "--faulty", "1:labels=swap:0-3")
        self.assertRegex(out, r"(?m)^1\* +70 ")
        self.assertRegex(out, r"\* learner 1 is faulty, labels=swap:0-3: \d+ of 70 labels are wrong")

    def test_many_classes_are_summarised(self):
        data = self.write_data(tuple(range(5, 35)))
        out = self.deal(data, "--learners", 3)
        self.assertRegex(out, r"^learner  wanted  got  classes  least  median  most  most of\n0 ")
        self.assertRegex(self.deal(data, "--learners", 3, "--full"), r"(?m)^learner +12 .* 23$")
        self.assertLess(max(map(len, out.splitlines())), 110)

    def test_draws_every_learner_and_class(self):
        data = self.write_data((60, 45, 4, 75))
        for classes in ("noniid:2", "iid"):  # some without a class, some with very few of one
            counts = self.described(data, "--learners", 3, "--classes", classes,
                                    "--faulty", "2:labels=random", "--svg", "d.svg")["learners"]
            drawing = ElementTree.parse(self.home / "d.svg").getroot()
            tips = [tip.text for tip in drawing.iter(f"{SVG}title")]
            for row in counts:
                for label, count in enumerate(row["class_counts"]):
                    tip = f"learner {row['learner']}, class {label}: {count} example"
                    self.assertEqual(sum(t.startswith(tip) for t in tips), 2 if count else 0, tip)
        words = [text.text for text in drawing.iter(f"{SVG}text")]
        self.assertIn("m.csv: 184 examples of 184 dealt to 3 learners", words)
        self.assertTrue(any("labels=random" in text for text in words))
        width = float(drawing.get("width"))
        for box in drawing.iter(f"{SVG}rect"):
            if box.get("x"):
                self.assertGreaterEqual(float(box.get("x")), 0)
                self.assertLessEqual(float(box.get("x")) + float(box.get("width")), width)

    def test_help_has_an_example(self):
        self.assertIn("Example:\n  metis partition ", self.deal("--help"))
        run = subprocess.run([str(BIN / "metis"), "help"], capture_output=True, text=True, timeout=60)
        self.assertRegex(run.stdout, r"(?m)^  partition +Deal a data set to learners")

    def test_a_wrong_command_line_says_the_way_out(self):
        data = self.write_data()
        self.assertIn("--help", self.refusal(code=2))
        self.assertIn("--help", self.refusal(data, "--learners", 0, code=2))
        for seed in ("-1", str(2**63)):
            self.assertIn(f'--seed: "{seed}"', self.refusal(data, "--seed", seed, code=2))
        self.assertIn('did you mean "uniform"?', self.refusal(data, "--sizes", "unifrom"))
        self.assertIn('write "iid"', self.refusal(data, "--classes", "idd"))
        self.assertIn("between 0 and 1", self.refusal(data, "--validation", "1"))
        self.assertIn('write "1:labels=random"', self.refusal(data, "--faulty", "1:random"))
        self.assertIn("there are 10 learners, 0 to 9", self.refusal(data, "--faulty", "10:labels=random"))
        self.assertIn("no such file", self.refusal("absent.npz"))
        self.assertIn('did you mean "mnist"?', self.refusal("mnits"))
        self.assertIn("can't be written", self.refusal(data, "--svg", "absent/d.svg"))


if __name__ == "__main__":
    unittest.main()
