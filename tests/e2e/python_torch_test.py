"""Models on the way between Metis and Python's torch: what one computes, the other does too.

Usage: python_torch_test.py DIRECTORY_OF_THE_PROGRAMS
Needs a Python with torch (Debian: python3-torch), which need not be the one that runs this file.
"""

import json
import shutil
import subprocess
import sys
import unittest
from functools import lru_cache

from learning import LearningTest, SIDE

# A network with batch normalisation and one with dropout, as a user would write them.
NETWORKS = """
import torch
from torch import nn
import numpy

def normalised():
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(),
                         nn.Flatten(), nn.Linear(4 * %d, 3))

def dropping():
    return nn.Sequential(nn.Flatten(), nn.Linear(%d, 24), nn.ReLU(), nn.Dropout(0.4),
                         nn.Linear(24, 3))

def examples(path):
    archive = numpy.load(path)
    images = torch.from_numpy(archive["x"]).float().unsqueeze(1) / 255
    return images, torch.from_numpy(archive["y"]).long()
""" % (SIDE * SIDE, SIDE * SIDE)

COMPARE = NETWORKS + """
import json, sys
module = globals()[sys.argv[1]]()
left = module.load_state_dict(torch.load(sys.argv[2]), strict=False)
images, labels = examples(sys.argv[3])
module.eval()
with torch.no_grad():
    scores = module(images)
counts = [[0] * 3 for _ in range(3)]
for actual, predicted in zip(labels.tolist(), scores.argmax(1).tolist()):
    counts[actual][predicted] += 1
loss = nn.functional.cross_entropy(scores, labels).item()
print(json.dumps({"confusion": counts, "loss": loss, "missing": left.missing_keys,
                  "unexpected": left.unexpected_keys}))
"""


@lru_cache
def python_with_torch():
    for python in (sys.executable, "/usr/bin/python3", shutil.which("python3")):
        check = [python, "-c", "import torch, numpy"]
        if python and subprocess.run(check, capture_output=True).returncode == 0:
            return python
    return None


@unittest.skipUnless(python_with_torch(), "no Python with torch and numpy here (python3-torch)")
class PythonTorchTest(LearningTest):
    def python(self, code, *arguments):
        run = subprocess.run([python_with_torch(), "-c", code, *arguments], cwd=self.home,
                             capture_output=True, text=True, timeout=300)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def script(self, network, seed=3):
        self.python(NETWORKS + f"torch.manual_seed({seed})\n"
                    f"torch.jit.save(torch.jit.script({network}()), '{network}.pt')\n")

    def check_that_both_compute_the_same(self, network):
        self.write_data()
        self.script(network)
        self.done("model", "init", f"torchscript:{network}.pt", "--dataset", "train.npz")
        self.done("train", "--init", "model.metis", "--dataset", "train.npz", "--test-file",
                  "test.npz", "--epochs", 4, "--batch", 16)
        told = self.told("evaluate", "runs/train/final.metis", "test.npz")
        self.assertGreater(told["accuracy"], 0.6)  # chance is 0.46
        self.done("model", "export", "runs/train/final.metis", "trained.pt")
        seen = json.loads(self.python(COMPARE, network, "trained.pt", "test.npz"))
        self.assertEqual(seen["confusion"], told["confusion"])
        self.assertAlmostEqual(seen["loss"], told["loss"], places=5)
        self.assertEqual(seen["unexpected"], [])
        self.assertTrue(all(name.endswith("num_batches_tracked") for name in seen["missing"]))

    def test_a_network_with_batch_normalisation_computes_the_same_in_python(self):
        self.check_that_both_compute_the_same("normalised")

    def test_a_network_with_dropout_computes_the_same_in_python(self):
        self.check_that_both_compute_the_same("dropping")

    def test_training_with_dropout_repeats_itself_bit_for_bit(self):
        self.write_data()
        self.script("dropping")
        prints = []
        for out, seed in (("a", 1), ("b", 1), ("c", 2)):
            told = self.told("train", "--model", "torchscript:dropping.pt", "--dataset",
                             "train.npz", "--epochs", 2, "--seed", seed, "--out", out)
            prints.append(told["fingerprints"]["final"])
        self.assertEqual(prints[0], prints[1])
        self.assertNotEqual(prints[0], prints[2])

    def test_one_tensor_alone_is_read_too(self):
        self.python("""
import torch
module = torch.nn.Linear(4, 3, bias=False)
torch.jit.save(torch.jit.script(torch.nn.Sequential(torch.nn.Flatten(), module)), "one.pt")
torch.save(torch.nn.Sequential(torch.nn.Flatten(), module).state_dict(), "weights.pt")
""")
        told = self.told("model", "import", "weights.pt", "--model", "torchscript:one.pt",
                         "--shape", "4", "--classes", 3)
        self.assertEqual(told["parameters"], 12)

    def test_weights_from_python_come_back_to_the_last_bit(self):
        self.write_data()
        self.script("normalised")
        self.python(NETWORKS + """
torch.manual_seed(11)
module = normalised()
module.train()
module(examples("train.npz")[0])  # so that the statistics are not those of the beginning
torch.save(module.state_dict(), "first.pt")
""")
        self.done("model", "import", "first.pt", "--model", "torchscript:normalised.pt",
                  "--dataset", "train.npz", "--out", "new.metis")
        self.done("model", "export", "new.metis", "second.pt")
        self.python("""
import torch
first, second = torch.load("first.pt"), torch.load("second.pt")
first = {name: tensor for name, tensor in first.items() if tensor.is_floating_point()}
assert set(first) == set(second), (set(first), set(second))
for name in first:
    assert first[name].dtype == second[name].dtype
    assert first[name].numpy().tobytes() == second[name].numpy().tobytes(), name
""")


if __name__ == "__main__":
    unittest.main()
