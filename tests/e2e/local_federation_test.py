"""scripts/local_federation.sh as a user types it: a short federation, its table, its report, its replay.

Usage: local_federation_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import json
import os
import subprocess
import unittest

from learning import BIN, LearningTest
from network_test import SCRIPTS

SCRIPT = SCRIPTS / "local_federation.sh"


class LocalFederationTest(LearningTest):
    def script(self, *arguments):
        temporary = self.home / "a place"  # with a space in its name
        temporary.mkdir(exist_ok=True)
        with subprocess.Popen([str(SCRIPT), *map(str, arguments)], cwd=self.home, text=True,
                              env=dict(os.environ, HOME=str(self.home), TMPDIR=str(temporary)), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            try:
                said = run.communicate(timeout=600)
            except subprocess.TimeoutExpired:
                run.terminate()  # not killed: it ends its processes
                self.fail(f"does not end: {run.communicate()}")
        return subprocess.CompletedProcess(run.args, run.returncode, *said)

    def test_a_short_one_leaves_a_run_that_replays(self):
        if "fashion-mnist" not in self.done("data", "list"):
            self.skipTest("Fashion-MNIST is not here")
        run = self.script("--bin", BIN, "--learners", "3", "--duration", "6s", "--record", "replayable", "--out",
                          "out/run")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("3 learners and an observer join it", run.stdout)
        self.assertIn("(duration)", run.stdout)
        summary = json.loads((self.home / "out/run/summary.json").read_text())
        self.assertEqual((summary["complete"], summary["stopped_by"], len(summary["learners"])),
                         (True, "duration", 3))
        self.assertIn('duration = "6s"', (self.home / "out/run/config.toml").read_text())
        requests = summary["update_requests"]
        self.assertRegex(run.stdout, rf"(?m)^runs +seeds +requests .*\nasync-dvw +1 +{requests} ")
        self.assertIn(self.done("compare", "out/run"), run.stdout)
        self.assertGreater(self.size("out/run/report.html"), 100_000)

        replayed = self.told("replay", "out/run")
        self.assertTrue(replayed["compared_with_summary"])
        self.assertEqual(replayed["version"], summary["version"])

    def test_a_wrong_value_is_named_before_anything_begins(self):
        (self.home / "there").mkdir()
        for option, value, way_out in [("--duration", "soon", "such as 20s"), ("--duration", "2", "a unit"),
                                       ("--duration", "0s", "above 0"), ("--duration", "-5s", "above 0"),
                                       ("--record", "heavy", "light or replayable"),
                                       ("--learners", "1", "at least 2"), ("--policy", "async", "async-dvw"),
                                       ("--out", "there", "choose another"), ("--bin", "there", "no metis")]:
            with self.subTest(option=option, value=value):
                # The option given last counts.
                run = self.script("--bin", BIN, "--out", "run", option, value)
                self.assertEqual((run.returncode, run.stdout), (2, ""), run.stderr)
                self.assertTrue(run.stderr.startswith("local_federation.sh: "), run.stderr)
                self.assertIn(f"{option} {value}", run.stderr)
                self.assertIn(way_out, run.stderr)
                self.assertFalse((self.home / "run").exists())

    def test_an_option_that_is_none_or_lacks_its_value_is_named(self):
        self.assertIn("there is no option --minutes", self.script("--minutes", "2").stderr)
        self.assertEqual(self.script("--minutes", "2").returncode, 2)
        self.assertIn("--record needs a value", self.script("--record").stderr)

    def test_help_has_every_option(self):
        said = self.script("--help").stdout
        for option in ("--policy", "--learners", "--duration", "--record", "--insecure", "--out", "--bin"):
            self.assertRegex(said, rf"(?m)local_federation.sh {option} ?")


if __name__ == "__main__":
    unittest.main()
