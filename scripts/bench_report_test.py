#!/usr/bin/env python3
"""Tests of bench_report.py: what is divided by what, and what is said of a group without its limit."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().with_name("bench_report.py")


class BenchReport(unittest.TestCase):
    def report(self, times, *arguments, code=0):
        """{(group, case): row}, and what was said on standard error."""
        benchmarks = [{"name": name, "family_index": index, "run_type": "iteration", "cpu_time": time}
                      for index, (name, time) in enumerate(times.items())]
        with tempfile.TemporaryDirectory() as directory:
            results = pathlib.Path(directory) / "results.json"
            results.write_text(json.dumps({"benchmarks": benchmarks}))
            run = subprocess.run([sys.executable, "-B", str(SCRIPT), "--json", *arguments, str(results)],
                                 capture_output=True, text=True)
        self.assertEqual(run.returncode, code, run.stderr)
        return {(row["group"], row["case"]): row for row in json.loads(run.stdout or "[]")}, run.stderr

    def test_cases_are_divided_by_their_limit(self):
        rows, said = self.report({"average 10 x 10M/scalar": 60, "average 10 x 10M/limit": 20,
                                  "average 10 x 10M/avx512": 30}, "--strict", code=3)
        self.assertEqual(rows["average 10 x 10M", "avx512"]["ratio"], 1.5)
        self.assertEqual(rows["average 10 x 10M", "avx512"]["verdict"], "over")
        self.assertEqual(rows["average 10 x 10M", "scalar"]["ratio"], 3)
        self.assertEqual(said, "")

    def test_a_group_whose_limit_was_filtered_out_is_left_out_and_named(self):
        times = {"average 10 x 10M/scalar": 60, "average 10 x 10M/avx512": 30, "replace 10M/limit": 10,
                 "replace 10M/avx512": 11}
        for strict, code in (((), 0), (("--strict",), 1)):
            rows, said = self.report(times, *strict, code=code)
            self.assertEqual(list(rows), [("replace 10M", "avx512")])
            self.assertEqual(said, "bench: average 10 x 10M is left out: the filter leaves out its limit\n")
        self.assertIn("nothing was measured", self.report({"average 10 x 10M/avx512": 30}, code=1)[1])

    def test_the_community_is_divided_by_ten_learners(self):
        rows, said = self.report({"community 1M/10 learners": 10, "community 1M/1000 learners": 11}, "--strict")
        self.assertEqual(rows["community 1M", "1000 learners"]["ratio"], 1.1)
        self.assertEqual(said, "")
        times = {"community 1M/100 learners": 10, "community 1M/1000 learners": 11}
        self.assertIn("community 1M is left out", self.report(times, "--strict", code=1)[1])


if __name__ == "__main__":
    unittest.main()
