"""What the tests of the learning programs share: running them, and small data that can be learnt."""

import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile
from pathlib import Path

BIN = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path("build/dev/bin").resolve()

COUNTS = (90, 60, 35)  # examples of each class: unequal ones show what equal ones hide
SIDE = 8


def npy(descr, shape, content):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + content


def write_images(path, seed=1, counts=COUNTS, side=SIDE, noise=120):
    """Grey images in an .npz file; a class is a bright stripe of its own, in noise."""
    draw = random.Random(seed)
    labels = [label for label, count in enumerate(counts) for _ in range(count)]
    draw.shuffle(labels)
    pixels = bytearray()
    for label in labels:
        for row in range(side):
            lit = row * len(counts) // side == label
            pixels += bytes(draw.randrange(noise) + (100 if lit else 0) for _ in range(side))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", npy("|u1", (len(labels), side, side), bytes(pixels)))
        archive.writestr("y.npy", npy("|u1", (len(labels),), bytes(labels)))
    return path


class LearningTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.home = Path(directory.name)

    def metis(self, *arguments):
        environment = dict(os.environ, HOME=str(self.home))
        return subprocess.run([str(BIN / "metis"), *map(str, arguments)], cwd=self.home,
                              env=environment, capture_output=True, text=True, timeout=600)

    def start(self, *arguments):
        """The program, running; ended with the test."""
        program = str(BIN / f"metis-{arguments[0]}")  # not the front: signals must reach it
        process = subprocess.Popen([program, *map(str, arguments[1:])], cwd=self.home,
                                   env=dict(os.environ, HOME=str(self.home)), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def wait_until(self, true, seconds=300):
        end = time.monotonic() + seconds
        while not true():
            self.assertLess(time.monotonic(), end, "waited too long")
            time.sleep(0.01)

    def requests(self):
        """Commits that the record shows."""
        path = self.home / "run/events.jsonl"
        return path.read_text().count('"committed"') if path.exists() else 0

    def size(self, name):
        path = self.home / name
        return path.stat().st_size if path.exists() else 0

    def done(self, *arguments):
        run = self.metis(*arguments)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def told(self, *arguments):
        """What the program says as JSON."""
        return json.loads(self.done(*arguments, "--json"))

    def refusal(self, *arguments, code=1):
        run = self.metis(*arguments)
        self.assertEqual((run.returncode, run.stdout), (code, ""), run.stderr)
        self.assertTrue(run.stderr.startswith("metis: "), run.stderr)
        return run.stderr

    def write_data(self):
        write_images(self.home / "train.npz", seed=1)
        write_images(self.home / "test.npz", seed=2, counts=(30, 20, 15))
