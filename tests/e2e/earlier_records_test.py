"""Records and states that earlier versions wrote (tests/records/VERSION, one directory a run) are still
understood: a run replays to the state in which it ended, and is compared and drawn with new ones.

Usage: earlier_records_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path("build/dev/bin").resolve()
RECORDS = Path(__file__).resolve().parent.parent / "records"
RUNS = sorted(path.parent for path in RECORDS.glob("*/*/summary.json"))


def run_metis(*arguments):
    return subprocess.run([str(BIN / "metis"), *map(str, arguments)], capture_output=True, text=True, timeout=300)


class EarlierRecordsTest(unittest.TestCase):
    def test_every_run_replays_to_the_state_in_which_it_ended(self):
        self.assertGreater(len(RUNS), 0)
        for run in RUNS:
            with self.subTest(run=str(run.relative_to(RECORDS))):
                replayed = run_metis("replay", run)
                self.assertEqual(replayed.returncode, 0, replayed.stderr)
                state = json.loads((run / "summary.json").read_text())["state_hash"]
                self.assertIn(f"State {state.removeprefix('0x')}, as the run ended.", replayed.stdout)

    def test_they_are_compared_and_drawn(self):
        compared = run_metis("compare", *RUNS)
        self.assertEqual((compared.returncode, compared.stderr), (0, ""))
        for run in RUNS:
            self.assertIn(run.name, compared.stdout)
        with tempfile.TemporaryDirectory() as directory:
            page = Path(directory) / "report.html"
            report = run_metis("report", *RUNS, "--out", page)
            self.assertEqual(report.returncode, 0, report.stderr)
            self.assertGreater(page.stat().st_size, 0)


if __name__ == "__main__":
    unittest.main()
