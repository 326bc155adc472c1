"""`metis simulate` and `metis replay`, as a user types them.

Usage: simulate_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path("build/dev/bin").resolve()

POLICIES = ["sync-fedavg", "sync-dvw", "async-fedavg", "fedasync", "async-dvw",
            "async-dvw-adaptive"]
# Small enough for a test, uneven enough that policies differ.
SMALL = ["--sizes", "powerlaw", "--classes", "noniid:3",
         "--set", "builtin.training_examples=2000"]


class SimulateTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.home = Path(directory.name)

    def metis(self, *arguments):
        return subprocess.run([str(BIN / "metis"), *arguments], cwd=self.home,
                              capture_output=True, text=True, timeout=300)

    def simulate(self, *arguments, duration="120s"):
        run = self.metis("simulate", *SMALL, "--duration", duration, *arguments)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def summary(self, directory):
        return json.loads((self.home / directory / "summary.json").read_text())

    def test_every_policy_ends_with_a_sensible_row(self):
        table = self.simulate("--policy", "all", "--out", "run")
        rows = [line.split() for line in table.splitlines()[1:7]]
        self.assertEqual([row[0] for row in rows], POLICIES)
        for policy in POLICIES:
            summary = self.summary(f"run/{policy}")
            self.assertTrue(summary["complete"])
            self.assertEqual(summary["stopped_by"], "duration")
            self.assertAlmostEqual(summary["length_s"], 120, delta=1)  # from the start of training
            self.assertGreater(summary["update_requests"], 10, policy)
            self.assertEqual(summary["updates_rejected"], 0, policy)
            self.assertGreater(summary["accuracy"]["best"], 0.4, policy)  # chance is 0.1
            self.assertEqual(len(summary["learners"]), 10)
            per_request = (summary["models_exchanged"] - summary["models_for_evaluation"]) / \
                summary["update_requests"]
            self.assertEqual(per_request, 2, policy)
            if "dvw" not in policy:
                self.assertEqual(summary["models_for_evaluation"], 0)

    def test_policies_truly_differ(self):
        self.simulate("--policy", "all", "--out", "run")
        curves = {tuple(test["loss"] for test in self.summary(f"run/{policy}")["tests"])
                  for policy in POLICIES}
        self.assertEqual(len(curves), len(POLICIES))
        requests = {self.summary(f"run/{policy}")["update_requests"]
                    for policy in ("sync-fedavg", "async-fedavg", "async-dvw")}
        self.assertEqual(len(requests), 3)

    def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(self):
        for out, seed in (("a", "7"), ("b", "7"), ("c", "8")):
            self.simulate("--policy", "all", "--seed", seed, "--out", out)
        for policy in POLICIES:
            a, b, c = ((self.home / out / policy / "events.jsonl").read_bytes() for out in "abc")
            self.assertEqual(a, b, policy)
            self.assertNotEqual(a, c, policy)
            self.assertEqual((self.home / "a" / policy / "models.f32").read_bytes(),
                             (self.home / "b" / policy / "models.f32").read_bytes(), policy)

    def test_a_replay_ends_at_the_same_state(self):
        self.simulate("--policy", "all", "--out", "run")
        for policy in POLICIES:
            run = self.metis("replay", f"run/{policy}", "--json")
            self.assertEqual(run.returncode, 0, run.stderr)
            outcome = json.loads(run.stdout)
            self.assertEqual(outcome["state_hash"], self.summary(f"run/{policy}")["state_hash"])
            self.assertTrue(outcome["compared_with_summary"])
            self.assertEqual(outcome["recomputed"], policy != "fedasync")
            self.assertGreater(outcome["notes"], 10)

    def test_the_built_in_task_can_be_named_and_a_wrong_option_names_the_nearest(self):
        self.simulate("--trainer", "builtin", "--policy", "async-fedavg", "--out", "run")
        self.assertEqual(self.summary("run")["policy"], "async-fedavg")
        for arguments, words in [(["--trainer", "builtin", "--dataset", "mnist"], "excludes"),
                                 (["--trainer", "torch"], "--dataset fashion-mnist"),
                                 (["--polcy", "all"], "did you mean --policy?"),
                                 (["--sead=7"], "did you mean --seed?")]:
            run = self.metis("simulate", *arguments)
            self.assertEqual(run.returncode, 2, arguments)
            self.assertIn(words, run.stderr)

    def test_a_replay_of_a_run_with_crashes_ends_at_the_same_state(self):
        for policy in ("async-dvw", "sync-dvw"):
            # Long enough for the controller's crashes of this seed.
            said = self.simulate("--policy", policy, "--faults", "--seed", "2", "--out", policy,
                                 duration="40min")
            struck = self.summary(policy)["faults_struck"]
            self.assertGreater(struck["controller-crash"], 0)
            self.assertGreater(struck["learner-crash"], 0)
            self.assertIn(f"Faults that struck {policy}: ", said)
            self.assertIn(f"controller-crash {struck['controller-crash']}", said)
            run = self.metis("replay", policy)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("as the run ended", run.stdout)

    def test_a_replay_notices_what_was_changed(self):
        self.simulate("--policy", "async-dvw", "--out", "run")
        events = self.home / "run/events.jsonl"
        lines = events.read_text().splitlines(keepends=True)

        def replay_of(changed):
            events.write_text("".join(changed))
            return self.metis("replay", "run")

        at = next(i for i, line in enumerate(lines) if '"note":"committed"' in line)
        edited = re.sub(r'"contribution":[0-9.]+', '"contribution":0.5', lines[at], count=1)
        run = replay_of(lines[:at] + [edited] + lines[at + 1:])
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"line {at + 1} of events.jsonl", run.stderr)

        run = replay_of(lines[:-50])
        self.assertEqual(run.returncode, 1)
        self.assertIn("was the record shortened?", run.stderr)

        run = replay_of(lines[:at] + ["{broken\n"] + lines[at + 1:])
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"events.jsonl:{at + 1}: no JSON object", run.stderr)

        models = self.home / "run/models.f32"
        data = bytearray(models.read_bytes())
        data[-10] ^= 1
        models.write_bytes(data)
        run = replay_of(lines)
        self.assertEqual(run.returncode, 1)
        self.assertIn("has another fingerprint", run.stderr)

    def test_a_run_that_was_cut_off_can_still_be_replayed(self):
        self.simulate("--policy", "async-fedavg", "--out", "run")
        (self.home / "run/summary.json").unlink()
        events = self.home / "run/events.jsonl"
        record = events.read_bytes()
        for cut in (20, 500, 1111, 5000, 12345):
            events.write_bytes(record[:-cut])
            run = self.metis("replay", "run")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("it was cut off", run.stdout)

    def test_a_killed_run_can_be_replayed_as_far_as_it_went(self):
        with subprocess.Popen([str(BIN / "metis"), "simulate", "--policy", "async-fedavg",
                               "--duration", "1000h", "--out", "run"], cwd=self.home,
                              stderr=subprocess.DEVNULL) as run:
            record = self.home / "run/events.jsonl"
            while run.poll() is None and not (record.exists() and record.stat().st_size > 500_000):
                pass
            run.kill()
        replayed = self.metis("replay", "run")
        self.assertEqual(replayed.returncode, 0, replayed.stderr)
        self.assertIn("it was cut off", replayed.stdout)

    def test_an_interrupted_run_keeps_what_was_reached(self):
        with subprocess.Popen([str(BIN / "metis"), "simulate", "--policy", "async-fedavg",
                               "--duration", "1000h", "--out", "run"], cwd=self.home,
                              stderr=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              text=True) as run:
            record = self.home / "run/events.jsonl"
            while run.poll() is None and not (record.exists() and record.stat().st_size > 500_000):
                pass
            run.terminate()
            table, _ = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 1)
        self.assertIn("interrupted", table)
        self.assertFalse(self.summary("run")["complete"])
        replayed = self.metis("replay", "run")
        self.assertIn("as the run ended", replayed.stdout)

    def test_an_existing_run_is_not_overwritten_unasked(self):
        self.simulate("--out", "run")
        run = self.metis("simulate", *SMALL, "--duration", "120s", "--out", "run")
        self.assertEqual(run.returncode, 1)
        self.assertIn("run already holds a run: choose another --out, or --force to replace it",
                      run.stderr)
        self.simulate("--out", "run", "--force")
        (self.home / "other").mkdir()
        (self.home / "other/precious.txt").write_text("mine")
        run = self.metis("simulate", *SMALL, "--duration", "120s", "--out", "other", "--force")
        self.assertEqual(run.returncode, 1)
        self.assertIn("other holds other files", run.stderr)
        self.assertTrue((self.home / "other/precious.txt").exists())

    def test_mistakes_are_named_with_the_way_out(self):
        run = self.metis("simulate", "--policy", "asinc-dvw")
        self.assertEqual(run.returncode, 2)
        self.assertIn("did you mean async-dvw?", run.stderr)
        run = self.metis("simulate", "--set", "federation.polcy=x")
        self.assertEqual(run.returncode, 1)
        self.assertIn('did you mean "policy"?', run.stderr)
        run = self.metis("simulate", "nothing.toml")
        self.assertEqual(run.returncode, 1)
        self.assertIn("nothing.toml", run.stderr)
        run = self.metis("replay", "nowhere")
        self.assertEqual(run.returncode, 1)
        self.assertIn("nowhere does not exist", run.stderr)
        run = self.metis("replay", ".")
        self.assertEqual(run.returncode, 1)
        self.assertIn("is no run directory", run.stderr)
        self.assertFalse((self.home / "runs").exists())

    def test_what_no_run_could_use_is_refused_with_its_value(self):
        for arguments, words in [
                (["--slowdown", "nan"], '"nan": must be a number'),
                (["--slowdown", "1000000", "--set", "group.fast.batch_time=3h"],
                 "--slowdown 1e+06: batch_time"),
                (["--set", "group.fast.bandwidth_mbit_s=1e-13"], "bandwidth_mbit_s = 1e-13"),
                (["--set", "group.slow.batch_time=365d", "--set", "training.batch_size=1"],
                 'batch_time = "8760h"'),
                (["--dataset", b"caf\xe9.npz"], 'data.dataset = "caf\\xe9.npz"')]:
            run = self.metis("simulate", *arguments, "--out", "run")
            self.assertIn(run.returncode, (1, 2), arguments)
            self.assertIn(words, run.stderr)
            self.assertFalse((self.home / "run").exists())

    def test_a_duration_counts_from_the_last_join_however_long_that_travels(self):
        self.simulate("--set", "group.slow.latency=2h", "--policy", "async-fedavg", "--out", "run",
                      duration="10min")
        summary = self.summary("run")
        self.assertEqual((summary["complete"], summary["stopped_by"]), (True, "duration"))
        self.assertGreater(summary["version"], 0)

    def test_a_federation_that_does_not_end_is_an_error_and_not_interrupted(self):
        # A century for a few rounds, in which little else happens.
        slow = ["group.slow.batch_time=365d", "membership.heartbeat=30d", "membership.silence=90d",
                "membership.lease=365d", "membership.retry=90d"]
        run = self.metis("simulate", *SMALL, "--policy", "sync-fedavg", "--rounds", "9", "--out",
                         "run", *(word for each in slow for word in ("--set", each)))
        self.assertEqual((run.returncode, run.stdout), (1, ""), run.stderr)
        self.assertIn("had not ended after 876001h of virtual time: it was running", run.stderr)
        self.assertIn("stop.duration", run.stderr)
        self.assertNotIn("interrupted", run.stderr)

    def test_built_in_data_that_do_not_fit_into_memory_are_refused(self):
        for features, training, test in [(1_000_000, 4_000_000_000, 1000),
                                         (1000, 4_000_000_000, 1000),
                                         (1_000_000, 6000, 4_000_000_000)]:
            sizes = {"features": features, "training_examples": training, "test_examples": test}
            assignments = [word for key, value in sizes.items()
                           for word in ("--set", f"builtin.{key}={value}")]
            run = self.metis("simulate", "--trainer", "builtin", *assignments, "--out", "run")
            self.assertEqual((run.returncode, run.stdout), (1, ""), run.stderr)
            for key, value in sizes.items():
                self.assertIn(f"builtin.{key} = {value}", run.stderr)
            self.assertIn("of memory", run.stderr)
            self.assertIn("choose fewer", run.stderr)
            self.assertFalse((self.home / "run").exists())

    def test_an_empty_value_is_not_the_default(self):
        for option in ("--resume", "--dataset", "--policy", "--seed", "--faulty"):
            run = self.metis("simulate", option, "")
            self.assertEqual(run.returncode, 2, option)
            self.assertIn(f"{option}: must not be empty", run.stderr)
        self.assertEqual(self.metis("simulate", "").returncode, 2)
        self.assertFalse((self.home / "runs").exists())

    def test_what_only_real_data_have_is_refused_with_built_in_ones(self):
        for arguments, key in [(["--faulty", "0:labels=random"], "data.faulty = 0:labels=random"),
                               (["--examples", "300"], "data.examples = 300"),
                               (["--test-examples", "60"], "data.test_examples = 60"),
                               (["--model", "mlp:16"], "training.model = mlp:16"),
                               (["--set", "training.augmentation=true"],
                                "training.augmentation = true")]:
            run = self.metis("simulate", *arguments, "--policy", "all", "--out", "run")
            self.assertEqual((run.returncode, run.stdout), (1, ""), arguments)
            self.assertIn(key + " is for real data", run.stderr)
            self.assertIn("--dataset", run.stderr)
            self.assertFalse((self.home / "run").exists(), arguments)
        # What says the same as leaving it out changes nothing.
        self.simulate("--faulty", "none", "--model", "auto", "--precision", "auto", "--out", "run")

    def test_the_resolved_configuration_runs_the_same_again(self):
        self.simulate("--policy", "async-dvw", "--seed", "3", "--out", "first")
        again = self.metis("simulate", "first/config.toml", "--out", "again")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual((self.home / "first/events.jsonl").read_bytes(),
                         (self.home / "again/events.jsonl").read_bytes())

    def test_a_resolved_configuration_runs_under_another_policy(self):
        self.simulate("--policy", "fedasync", "--seed", "3", "--out", "mixed")
        self.simulate("--policy", "all", "--seed", "3", "--out", "fresh")
        again = self.metis("simulate", "mixed/config.toml", "--policy", "all", "--out", "again")
        self.assertEqual(again.returncode, 0, again.stderr)
        for policy in POLICIES:
            self.assertEqual(self.summary(f"again/{policy}")["policy"], policy)
            for name in ("config.toml", "events.jsonl"):
                self.assertEqual((self.home / "fresh" / policy / name).read_bytes(),
                                 (self.home / "again" / policy / name).read_bytes(), policy)
        # What stands beside it on the command line still wins.
        run = self.metis("simulate", "mixed/config.toml", "--policy", "sync-fedavg", "--set",
                         "federation.trigger=adaptive", "--out", "both")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.summary("both")["policy"], "custom")

    def test_momentum_that_is_kept_does_not_depend_on_the_threads(self):
        # Slow learners miss the end of the first rounds: their epochs under way are abandoned.
        for threads in ("1", "3"):
            run = self.metis("simulate", "--sizes", "skewed", "--policy", "sync-fedavg",
                             "--set", "federation.trigger=adaptive", "--set",
                             "sync.round_deadline=30s", "--set", "training.keep_momentum=true",
                             "--duration", "4min", "--threads", threads, "--out", threads)
            self.assertEqual(run.returncode, 0, run.stderr)
        self.assertLess(self.summary("1")["update_requests"], 10 * self.summary("1")["version"])
        self.assertEqual((self.home / "1/events.jsonl").read_bytes(),
                         (self.home / "3/events.jsonl").read_bytes())

    def test_json_for_machines_and_help_with_an_example(self):
        output = self.simulate("--policy", "fedasync", "--out", "run", "--json")
        self.assertEqual(json.loads(output)[0]["policy"], "fedasync")
        for command in ("simulate", "replay"):
            run = self.metis(command, "--help")
            self.assertEqual(run.returncode, 0)
            self.assertRegex(run.stdout, rf"Examples?:\n  metis (simulate|{command})")


if __name__ == "__main__":
    unittest.main()
