#!/usr/bin/env python3
"""The plain training loop of Python's torch, to compare with: the networks, layout, mini-batches and
optimizer of train_bench.cc, one thread, CPU time. Prints results in the form of Google Benchmark.

  bench/train_bench.py --repetitions 5 > python.json
"""

import argparse
import json
import re
import time

import torch
from torch import nn

IMAGES = 2000
BATCH = 100


def cifar10_cnn():
    def norm():
        return nn.LocalResponseNorm(9, alpha=0.001, beta=0.75, k=1)

    return nn.Sequential(
        nn.Conv2d(3, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True), norm(),
        nn.Conv2d(64, 64, 5, padding=2), nn.ReLU(), norm(), nn.MaxPool2d(3, 2, ceil_mode=True),
        nn.Flatten(), nn.Linear(2304, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(),
        nn.Linear(192, 10))


def two_convolutions(filters, units, classes):
    return nn.Sequential(
        nn.Conv2d(1, filters, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(filters, 2 * filters, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(49 * 2 * filters, units), nn.ReLU(), nn.Linear(units, classes))


CASES = {
    "cifar10-cnn": (cifar10_cnn, 3, 24, 10),
    "mnist-cnn": (lambda: two_convolutions(16, 128, 10), 1, 28, 10),
    "femnist-cnn": (lambda: two_convolutions(32, 2048, 62), 1, 28, 62),
}


class Loop:
    def __init__(self, name):
        make, channels, side, classes = CASES[name]
        self.network = make().to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.01, momentum=0.75)
        self.batches = [
            (torch.randn(BATCH, channels, side, side).to(memory_format=torch.channels_last),
             torch.randint(classes, (BATCH,))) for _ in range(IMAGES // BATCH)
        ]

    def epoch(self):
        for inputs, labels in self.batches:
            self.optimizer.zero_grad()
            loss = nn.functional.cross_entropy(self.network(inputs), labels)
            loss.backward()
            self.optimizer.step()
            loss.item()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--filter", default=".", help="only networks whose name matches")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    results = []
    for index, name in enumerate(CASES):
        if not re.search(arguments.filter, f"{name} fp32/python"):
            continue
        loop = Loop(name)
        loop.epoch()
        for _ in range(arguments.repetitions):
            start = time.process_time()
            loop.epoch()
            results.append({
                "name": f"{name} fp32/python",
                "family_index": index,
                "run_type": "iteration",
                "cpu_time": 1000 * (time.process_time() - start),
            })
    print(json.dumps({"benchmarks": results}))


if __name__ == "__main__":
    main()
