"""What `metis simulate` does to the directory that it is given: whose it may be, and how it goes on.

Usage: simulate_directory_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import json
import os
import resource
import signal
import subprocess
import unittest

from learning import BIN, LearningTest

# Small enough for a test, uneven enough that learners differ.
DEALT = ["--sizes", "powerlaw", "--classes", "noniid:3"]
SMALL = [*DEALT, "--set", "builtin.training_examples=2000"]


class SimulateDirectoryTest(LearningTest):
    def files(self, directory):
        root = self.home / directory
        return {path.relative_to(root).as_posix(): path.read_bytes()
                for path in root.rglob("*") if path.is_file()}

    def test_a_federation_of_the_network_is_never_overwritten(self):
        for mark in ("federation", "state.db"):
            directory = f"of-{mark}"
            self.done("simulate", *SMALL, "--duration", "20s", "--out", directory)
            (self.home / directory / mark).write_text("0123456789abcdef\nlight\n")
            before = self.files(directory)
            for arguments in (["--resume", directory],
                              [*SMALL, "--out", directory],
                              [*SMALL, "--out", directory, "--force"],
                              [f"{directory}/config.toml", "--out", directory, "--force"]):
                said = self.refusal("simulate", *arguments)
                self.assertIn(f"`metis controller --run {directory}`", said)
                self.assertNotIn("--force", said)
                self.assertEqual(self.files(directory), before, arguments)

    def cut_off(self, directory, *arguments):
        """A run that was killed with much to do."""
        process = self.start("simulate", *(arguments or DEALT), "--policy", "async-fedavg",
                             "--set", "builtin.training_examples=2000", "--duration", "40h",
                             "--out", directory)
        self.wait_until(lambda: self.size(f"{directory}/work.bin") > 100_000)
        process.kill()
        process.wait()

    def test_a_run_does_not_go_on_with_another_table_of_classes(self):
        table = self.home / "table.csv"
        table.write_text("90,60,30,0,0,0,0,0,0,9\n20,40,60,5,5,5,5,5,5,5\n")
        self.cut_off("cut", "--classes", "table:table.csv", "--learners", "2")
        before = self.files("cut")
        table.write_text("91,60,30,0,0,0,0,0,0,9\n20,40,60,5,5,5,5,5,5,5\n")
        self.assertIn("--out cut --force", self.refusal("simulate", "--resume", "cut"))
        self.assertEqual(self.files("cut")["events.jsonl"], before["events.jsonl"])

    def test_a_run_that_lost_its_configuration_says_so(self):
        self.cut_off("cut")
        (self.home / "cut/config.toml").unlink()
        for words in ("cut has lost its config.toml: bring it back", "cut keeps no work"):
            said = self.refusal("simulate", "--resume", "cut")
            self.assertIn(words, said)
            self.assertIn("its configuration and --out cut --force", said)
            self.assertNotIn("metis init", said)
            self.assertNotIn("cut/config.toml", said)
            (self.home / "cut/work.bin").unlink(missing_ok=True)
        self.done("simulate", *SMALL, "--duration", "20s", "--out", "cut", "--force")

    def test_one_process_has_a_directory_at_a_time(self):
        process = self.start("simulate", *SMALL, "--policy", "async-fedavg", "--duration", "40h",
                             "--out", "run")
        self.wait_until(lambda: self.size("run/work.bin") > 100_000)
        for arguments in (["--resume", "run"], [*SMALL, "--out", "run"],
                          [*SMALL, "--out", "run", "--force"]):
            said = self.refusal("simulate", *arguments)
            self.assertIn(f"run is in use by process {process.pid}", said)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertIn("goes on", process.communicate(timeout=600)[1])
        self.assertIn("as the run ended", self.done("replay", "run"))

    def test_a_lock_leaves_no_difference_between_directories(self):
        for out in ("a", "b"):
            self.done("simulate", *SMALL, "--duration", "20s", "--out", out)
        self.assertEqual(self.files("a"), self.files("b"))
        (self.home / "fresh").mkdir()
        (self.home / "fresh/lock").write_text("4711")  # of a process that was killed at once
        self.done("simulate", *SMALL, "--duration", "20s", "--out", "fresh")
        self.assertEqual(self.files("a"), self.files("fresh"))
        self.done("compare", "a", "b")

    def test_half_a_summary_does_not_keep_a_run_from_going_on(self):
        options = [*SMALL, "--policy", "async-fedavg", "--duration", "40min"]
        self.done("simulate", *options, "--out", "whole")
        process = self.start("simulate", *options, "--out", "cut")
        self.wait_until(lambda: self.size("cut/work.bin") > 20_000)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=600)
        self.assertFalse(json.loads((self.home / "cut/summary.json").read_text())["complete"])
        os.truncate(self.home / "cut/summary.json", 10)
        self.done("simulate", "--resume", "cut")
        self.assertEqual(self.files("cut"), self.files("whole"))

    def simulate_on_a_full_disk(self, *arguments):
        """What it says; each file has 200 kB."""
        def full_disk():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))

        run = subprocess.run([str(BIN / "metis-simulate"), *SMALL, "--policy", "async-fedavg",
                              *arguments], cwd=self.home, capture_output=True, text=True,
                             timeout=600, preexec_fn=full_disk)
        self.assertEqual((run.returncode, run.stdout), (1, ""), run.stderr)
        return run.stderr

    def test_a_full_disk_ends_a_run_and_not_its_duration(self):
        said = self.simulate_on_a_full_disk("--duration", "40h", "--out", "run")
        self.assertIn("the record in run is incomplete", said)
        self.assertIn("free space, then `metis simulate --resume run` goes on", said)
        said = self.simulate_on_a_full_disk("--duration", "40h", "--no-journal", "--out", "other")
        self.assertNotIn("--resume", said)
        self.assertIn("metis simulate other/config.toml --out other --force\n", said)
        said = self.simulate_on_a_full_disk("--duration", "40h", "--no-journal", "--faults",
                                            "--record", "replayable", "--data-dir", "sets", "--out",
                                            "third")
        self.assertIn("third/config.toml --out third --force --faults --record replayable "
                      "--data-dir sets\n", said)

    def test_a_run_goes_on_once_there_is_space(self):
        options = ["--duration", "20min", "--out"]
        self.done("simulate", *SMALL, "--policy", "async-fedavg", *options, "whole")
        self.assertIn("--resume cut", self.simulate_on_a_full_disk(*options, "cut"))
        self.assertFalse((self.home / "cut/summary.json").exists())
        self.done("simulate", "--resume", "cut")
        self.assertEqual(self.files("cut"), self.files("whole"))

    def test_all_directories_are_looked_at_before_the_first_run(self):
        taken = self.home / "runs/sync-fedavg/letter.txt"
        taken.parent.mkdir(parents=True)
        taken.write_text("mine")
        said = self.refusal("simulate", *SMALL, "--policy", "async-fedavg,sync-fedavg", "--out",
                            "runs")
        self.assertIn("runs/sync-fedavg holds other files", said)
        self.assertEqual(self.files("runs"), {"sync-fedavg/letter.txt": b"mine"})

    def test_several_policies_do_not_go_below_a_run(self):
        several = [*SMALL, "--duration", "20s", "--policy", "async-fedavg,sync-fedavg"]
        self.done("simulate", *SMALL, "--duration", "20s")
        before = self.files("runs")
        for arguments in (several, [*several, "--force"]):
            said = self.refusal("simulate", *arguments)
            self.assertIn("runs/simulate is itself a run", said)
            self.assertIn("choose another --out", said)
            self.assertEqual(self.files("runs"), before)
        for mark, words in (("epochs.jsonl", "of-epochs.jsonl is itself a run"),
                            ("federation", "`metis controller --run of-federation`"),
                            ("state.db", "`metis controller --run of-state.db`")):
            directory = f"of-{mark}"
            (self.home / directory).mkdir()
            (self.home / directory / mark).write_text("0123456789abcdef\nlight\n")
            before = self.files(directory)
            self.assertIn(words, self.refusal("simulate", *several, "--out", directory))
            self.assertEqual(self.files(directory), before)
        self.done("simulate", *several, "--out", "fresh")
        self.done("simulate", *several, "--out", "fresh", "--force")
        for policy in ("async-fedavg", "sync-fedavg"):
            self.assertIn(policy, self.done("compare", "fresh").split())

    def test_a_damaged_summary_of_a_complete_run_is_named(self):
        self.done("simulate", *SMALL, "--duration", "20s", "--faults", "--out", "run")
        path = self.home / "run/summary.json"
        whole = json.loads(path.read_text())
        self.assertIn("is complete", self.metis("simulate", "--resume", "run").stderr)
        for damaged, words in (({"complete": True, "accuracy": None}, "it lacks policy"),
                               ({**whole, "accuracy": None}, "it lacks accuracy/final"),
                               ({**whole, "version": "3"}, 'version is "3"'),
                               ({**whole, "faults_struck": [None]}, "faults_struck is no")):
            path.write_text(json.dumps(damaged))
            said = self.refusal("simulate", "--resume", "run")
            self.assertIn("run/summary.json is damaged: " + words, said)
            self.assertIn("metis simulate run/config.toml --out run --force", said)
            self.assertEqual("--force --faults" in said, "faults" in damaged)

    def test_runs_that_ended_before_a_failure_are_shown(self):
        process = self.start("simulate", *SMALL, "--policy", "async-fedavg,sync-fedavg",
                             "--duration", "40min", "--out", "runs")
        self.wait_until(lambda: (self.home / "runs/async-fedavg/events.jsonl").exists())
        (self.home / "runs/sync-fedavg").mkdir()
        (self.home / "runs/sync-fedavg/letter.txt").write_text("mine")
        table, said = process.communicate(timeout=600)
        self.assertEqual(process.returncode, 1)
        self.assertIn("runs/sync-fedavg holds other files", said)
        self.assertRegex(table, r"(?m)^async-fedavg .* duration$")
        self.assertNotIn("sync-fedavg ", table.replace("async-fedavg ", ""))


if __name__ == "__main__":
    unittest.main()
