#!/usr/bin/env python3
"""Whole simulated federations against a bare libtorch loop: what the simulator costs beside training.

Fashion-MNIST, mnist-cnn, async-fedavg, uniform sizes. The time of 1,000 trained images, everything
counted: loading data, commits, a few tests. CPU time, except for the gain of a second thread, which
only the clock shows. Prints results in the form of Google Benchmark.

  bench/simulate_bench.py build/release --repetitions 3 > simulate.json
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BARE = "mnist-cnn fp32/limit"
BARE_IMAGES = 2000  # of one pass of train_bench
GIB = 2**30

# Learners, threads, examples, seconds of virtual time.
RUNS = {
    "10 learners": (10, 1, 6000, 60),
    "10 learners, 2 threads": (10, 2, 6000, 60),
    "1000 learners": (1000, 2, 60000, 2),
}


def bare_loop(build):
    """CPU seconds of 1,000 images."""
    told = subprocess.run(
        [build / "bench/train_bench", f"--benchmark_filter=^{BARE}",
         "--benchmark_repetitions=5", "--benchmark_format=json"], check=True, capture_output=True, text=True)
    # In milliseconds, as train_bench has it.
    times = [each["cpu_time"] for each in json.loads(told.stdout)["benchmarks"]
             if each["run_type"] == "iteration"]
    return min(times) / 1000 * 1000 / BARE_IMAGES


def simulate(build, out, learners, threads, examples, seconds):
    """Seconds of CPU and clock for 1,000 images, and the most memory used."""
    start = time.monotonic()
    process = subprocess.Popen(
        [build / "bin/metis-simulate", "--policy", "async-fedavg", "--dataset", "fashion-mnist",
         "--model", "mnist-cnn", "--learners", str(learners), "--examples", str(examples),
         "--threads", str(threads), "--duration", f"{seconds}s", "--set",
         f"test.every={seconds / 4}s", "--test-examples", "1000", "--set",
         f"federation.max_learners={learners + 1}", "--no-journal", "--out", out, "--force"],
        stdout=subprocess.PIPE, text=True)
    told = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"simulate_bench: metis-simulate failed with {process.returncode}")
    thousands = int(re.search(r"Trained (\d+) examples", told).group(1)) / 1000
    return ((used.ru_utime + used.ru_stime) / thousands,
            (time.monotonic() - start) / thousands, used.ru_maxrss * 1024)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="build directory of the preset release")
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    results = []

    def add(name, seconds):
        results.append({"name": name, "family_index": len({each["name"] for each in results}),
                        "run_type": "iteration", "cpu_time": 1000 * seconds})

    with tempfile.TemporaryDirectory() as directory:
        for _ in range(arguments.repetitions):
            add("simulation/limit", bare_loop(arguments.build))
            seen = {name: simulate(arguments.build, f"{directory}/run", *what)
                    for name, what in RUNS.items()}
            add("simulation/10 learners", seen["10 learners"][0])
            add("simulation threads/limit", seen["10 learners"][1])
            add("simulation threads/2 threads", seen["10 learners, 2 threads"][1])
            add("simulation 1000/limit", seen["10 learners, 2 threads"][0])
            add("simulation 1000/1000 learners", seen["1000 learners"][0])
            # Memory in place of time: the limit is 8 GiB.
            add("simulation memory/limit", 8)
            add("simulation memory/1000 learners", seen["1000 learners"][2] / GIB)
    print(json.dumps({"benchmarks": results}))


if __name__ == "__main__":
    main()
