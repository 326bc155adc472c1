"""A running federation, operated as its operator types it: status, pause, resume, withdraw, export, stop.

Usage: operate_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import json
import os
import shutil
import signal
import stat
import struct
import subprocess
import unittest
from pathlib import Path

from learning import BIN
from network_test import BUILTIN, ENDLESS, LEARNERS, Member, NetworkTest

COMMANDS = ["status", "pause", "resume", "stop", "withdraw", "export"]


def values_of(path):
    """The values of a model file (docs/model-file.md)."""
    data = path.read_bytes()
    magic, _, _, header, parameters = struct.unpack("<8sIIQQ", data[:32])
    assert magic == b"metismdl", path
    begin = (48 + header + 63) // 64 * 64
    return data[begin:begin + 4 * parameters]


def recorded(run):
    """The lines of a record that may be written to meanwhile: without the last one if it is not whole yet."""
    text = (run / "events.jsonl").read_text()
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


def committed(run):
    """Learner: (p_k, record of its model in models.f32), of those in the community at the record's end."""
    records, community = {}, {}
    for line in recorded(run):
        if line.get("event") == "update":
            records[tuple(sorted(line["id"].items()))] = line["model"]["record"]
        elif line.get("note") == "committed":
            for update in line["updates"]:
                key = tuple(sorted(update["id"].items()))
                community[update["id"]["learner"]] = (update["contribution"], records[key])
            if line["withdrawn"] is not None:
                del community[line["withdrawn"]]
    return community


def community_of(run, contributions):
    """The definition of the community model, on its grids (metis/federation/community.h), from the record."""
    models = (run / "models.f32").read_bytes()
    parameters = json.loads((run / "schema.json").read_text())["parameters"]
    shares = {k: round(p * 2**30) for k, (p, _) in contributions.items()}  # contributions are metrics, at most 1
    inverse = 1.0 / (float(sum(shares.values())) * 2.0**10)
    sums = [0] * parameters
    for k, (_, record) in contributions.items():
        values = struct.unpack_from(f"<{parameters}f", models, 4 * parameters * record)
        for i, value in enumerate(values):
            sums[i] += round(float(shares[k]) * 2.0**10 * value)
    return struct.pack(f"<{parameters}f", *(float(each) * inverse for each in sums))


class OperateTest(NetworkTest):
    def begin(self, settings=ENDLESS, run="run"):
        """A federation of learners and an observer that runs, and has committed something of everybody."""
        self.run_directory = run
        self.leader = self.controller(settings, "--insecure", run=run)
        address = self.address(self.leader, run)
        self.members = [self.observer(address, "--data", "builtin", "--insecure", "--name", "observer")]
        for k in range(LEARNERS):
            self.members.append(Member(self, f"site-{k}", ["learner", "--join", address, "--data", "builtin",
                                                           "--share", f"{k}/{LEARNERS}", "--insecure", "--name",
                                                           f"site-{k}"]))
        self.wait_until(self.begun)

    def begun(self):
        status = self.status()
        return (status["connected"] == LEARNERS + 1
                and sum(each["updates"] > 0 for each in status["participants"]) == LEARNERS)

    def status(self):
        return self.told("status", self.run_directory)

    def participant(self, name):
        return next(each for each in self.status()["participants"] if each["name"] == name)

    def end(self):
        """Stopped by its operator: everybody ends well, and the record replays to the same bits."""
        self.assertIn("stopped", self.done("stop", self.run_directory))
        self.leader.end()
        for member in self.members:
            member.end()
        summary = self.summary(self.run_directory)
        self.assertTrue(summary["complete"])
        self.assertEqual(summary["stopped_by"], "operator")
        self.assertTrue(self.told("replay", self.run_directory)["compared_with_summary"])
        for name in ("address", "control", "control.sock"):
            self.assertFalse((self.home / self.run_directory / name).exists(), name)
        return summary

    def held(self):
        """Paused, with an update of every learner that waits: no model changes from here on. The latest one is tested,
        and in the record, some lines of which a controller keeps in its memory for a while."""
        self.done("pause", self.run_directory)
        self.wait_until(lambda: self.is_still(self.status()))
        held = self.status()
        self.wait_until(lambda: held["version"] in [line.get("version") for line in
                                                    recorded(self.home / self.run_directory)
                                                    if line.get("note") == "committed"])
        return held

    @staticmethod
    def is_still(status):
        tested = status["tests"][-1]["version"] if status["tests"] else None
        return status["pending"] == LEARNERS and tested == status["version"]


class SteeringTest(OperateTest):
    def test_status_shows_the_federation(self):
        self.begin()
        status = self.status()
        self.assertEqual((status["phase"], status["policy"], status["connected"]),
                         ("running", "async-dvw", LEARNERS + 1))
        learners = [each for each in status["participants"] if each["role"] == "learner"]
        self.assertEqual(sorted(each["name"] for each in learners), [f"site-{k}" for k in range(LEARNERS)])
        self.assertAlmostEqual(sum(each["share"] for each in learners), 1, places=6)
        self.assertGreater(len({each["training_examples"] for each in learners}), 1)
        for each in learners:
            self.assertTrue(each["connected"], each)
            self.assertIn("127.0.0.1", each["address"])
            self.assertIn(each["state"], ("training", "committing"))
            self.assertLess(each["last_seen_s"], 30)
            self.assertEqual(sum(each["cycles"].values()), each["updates"])
        self.assertGreater(status["memory_bytes"], 1_000_000)
        self.assertTrue(any("site-0 has joined" in each["text"] for each in status["events"]))
        table = self.done("status", "run")
        self.assertRegex(table, r"(?m)^site-2 +(training|committing) +\d+ ")
        self.assertRegex(table, r"(?m)^observer \(observer\) +idle ")
        self.assertNotIn("\x1b", table)
        self.end()

    def test_paused_nothing_is_committed_until_it_is_resumed(self):
        self.begin()
        held = self.held()
        self.assertEqual((held["phase"], held["phase_reason"]), ("paused", "paused by the operator"))
        self.assertIn("paused already", self.done("pause", "run"))
        self.assertEqual({each["state"] for each in held["participants"] if each["role"] == "learner"},
                         {"committing"})
        self.assertEqual(self.status()["version"], held["version"])
        self.assertIn("running", self.done("resume", "run"))
        self.wait_until(lambda: self.status()["version"] >= held["version"] + LEARNERS)  # some are still judged
        self.end()
        lines = [json.loads(line) for line in (self.home / "run/audit.jsonl").read_text().splitlines()]
        said = [line["message"] for line in lines if line["reason"] == "command"]
        self.assertEqual([text.split(":")[0] for text in said], ["pause", "pause", "resume", "stop"])

    def test_a_withdrawal_leaves_what_never_held_the_model(self):
        self.begin()
        held = self.held()
        run = self.home / "run"
        before = committed(run)
        victim = self.participant("site-1")
        self.assertGreater(victim["contribution"], 0)
        self.done("export", "run", "--out", "with.metis")
        self.assertEqual(values_of(self.home / "with.metis"), community_of(run, before))
        said = self.told("withdraw", "site-1", "run")
        self.assertIn("site-1's model is out of the community", said["message"])
        self.assertEqual(said["version"], held["version"] + 1)
        self.assertEqual(self.participant("site-1")["contribution"], 0)
        self.done("export", "run", "--out", "without.metis")
        without = {k: each for k, each in before.items() if k != victim["id"]}
        self.assertEqual(len(without), LEARNERS - 1)
        self.assertEqual(values_of(self.home / "without.metis"), community_of(run, without))
        self.assertNotEqual(values_of(self.home / "without.metis"), values_of(self.home / "with.metis"))
        again = self.told("withdraw", "site-1", "run")
        self.assertEqual((again["version"], "has no model" in again["message"]), (said["version"], True))
        self.assertIn("did you mean site-", self.refusal("withdraw", "site-", "run"))
        self.done("resume", "run")
        self.wait_until(lambda: self.participant("site-1")["contribution"] > 0)  # its next update
        self.assertEqual(self.end()["version"] > held["version"], True)

    def test_models_are_exported_while_it_runs_and_afterwards(self):
        self.begin()
        self.held()
        self.done("export", "run", "--out", "live.metis")
        live = self.told("model", "info", "live.metis")
        self.assertEqual(live["facts"]["version"], str(self.status()["version"]))
        self.assertEqual(live["facts"]["policy"], "async-dvw")
        self.assertIn("already exists", self.refusal("export", "run", "--out", "live.metis"))
        self.done("export", "run", "--out", "live.pt")
        self.done("model", "import", "live.pt", "--like", "live.metis", "--out", "back.metis")
        self.assertEqual(self.told("model", "info", "back.metis")["fingerprint"], live["fingerprint"])
        self.assertFalse((self.home / "live.pt.metis").exists())
        best = self.done("export", "run", "--best", "--out", "best.metis")
        self.assertIn(f"version {self.status()['best']['version']}", best)
        self.assertIn("which one is meant?", self.refusal("export", "run", "--out", "live.onnx"))
        self.end()
        said = self.done("export", "run", "--out", "last.metis")
        self.assertIn("the controller is not running", said)
        self.assertEqual(values_of(self.home / "last.metis"), values_of(self.home / "run/final.metis"))

    def test_watch_goes_on_until_the_end(self):
        self.begin()
        watch = self.start("operate", "status", "run", "--watch", "--interval", "100ms")
        blocks = []
        while len(blocks) < 3:
            line = watch.stdout.readline()
            self.assertNotEqual(line, "", "it ended")
            if line.startswith("version "):
                blocks.append(line)
        lines = self.start("operate", "status", "run", "--watch", "--json", "--interval", "100ms")
        first, second = (json.loads(lines.stdout.readline()) for _ in range(2))
        self.assertGreaterEqual(second["time_s"], first["time_s"])
        lines.send_signal(signal.SIGINT)
        lines.communicate(timeout=60)
        self.assertEqual(lines.returncode, 0)
        self.end()
        rest, error = watch.communicate(timeout=60)
        self.assertEqual(watch.returncode, 0, error)
        self.assertNotIn("\x1b", rest)
        self.assertRegex(rest, r"(?m)^finished: operator$")


class DeadControllerTest(OperateTest):
    def test_what_the_record_last_knew_is_said(self):
        self.begin()
        held = self.held()
        self.leader.process.kill()
        self.leader.process.wait()
        run = self.metis("status", "run")
        self.assertEqual(run.returncode, 1)
        self.assertIn("the controller of run is not running", run.stderr)
        self.assertIn("metis controller --run run", run.stderr)
        self.assertRegex(run.stdout, rf"(?m)^version +{held['version']} after {held['requests']} updates")
        known = json.loads(self.metis("status", "run", "--json").stdout)
        self.assertEqual((known["version"], known["requests"], known["phase"]),
                         (held["version"], held["requests"], ""))
        self.assertEqual({each["name"]: each["updates"] for each in known["participants"]},
                         {each["name"]: each["updates"] for each in held["participants"]
                          if each["role"] == "learner"})
        self.assertIn("is not running", self.refusal("pause", "run"))
        self.assertIn("it was killed", self.refusal("export", "run", "--out", "x.metis"))
        self.assertIn("no controller is running here or below runs", self.refusal("status"))

        address = (self.home / "run/address").read_text().strip()
        self.leader = Member(self, "again", ["controller", "--run", "run", "--listen", address, "--insecure"])
        self.wait_until(lambda: self.metis("status", "run").returncode == 0)
        status = self.status()  # goes on: also what is not in the controller's state
        self.assertEqual((status["version"], status["phase_reason"]),
                         (held["version"], "paused by the operator"))
        self.assertEqual({each["name"]: each["updates"] for each in status["participants"]},
                         {each["name"]: each["updates"] for each in held["participants"]})
        self.assertEqual(status["tests"], held["tests"])
        self.assertEqual(status["cycles"], held["cycles"])
        self.done("resume", "run")
        self.end()


class MistakesTest(OperateTest):
    def test_a_run_directory_with_a_long_path_is_operated_all_the_same(self):
        run = "runs/" + 4 * "a-directory-of-forty-letters-and-one-more/"
        leader = self.controller(BUILTIN, "--insecure", run=run)
        self.address(leader, run)
        socket = Path((self.home / run / "control").read_text().strip())
        self.assertEqual(socket.parts[1], "tmp")
        self.assertEqual(stat.S_IMODE(socket.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(socket.parent.stat().st_mode), 0o700)
        self.assertEqual(self.told("status", run)["phase"], "waiting")
        leader.process.kill()
        leader.process.wait()
        leader = Member(self, "again", ["controller", "--run", run, "--listen", "127.0.0.1:0", "--insecure"])
        self.wait_until(lambda: self.metis("status", run).returncode == 0)
        self.assertFalse(socket.parent.exists())  # of the killed one
        socket = Path((self.home / run / "control").read_text().strip())
        leader.process.send_signal(signal.SIGTERM)
        leader.end()
        self.assertFalse(socket.parent.exists())

    def test_a_run_directory_may_have_any_name(self):
        run = "runs/50 % of #3? gr\u00f6\u00dfer"
        leader = self.controller(BUILTIN, "--insecure", run=run)
        self.address(leader, run)
        self.assertEqual(self.told("status", run)["phase"], "waiting")
        self.done("stop", run)
        leader.end()

    def test_of_an_operator(self):
        self.assertIn("no controller is running", self.refusal("status"))
        self.assertIn("is no directory", self.refusal("status", "nothing"))
        (self.home / "empty").mkdir()
        self.assertIn("is no run directory", self.refusal("pause", "empty"))
        self.assertIn("are for --join", self.refusal("status", "--insecure"))
        self.assertIn("a federation speaks TLS", self.refusal("status", "--join", "127.0.0.1:1"))
        self.assertIn("no controller answers at 127.0.0.1:1",
                      self.refusal("stop", "--join", "127.0.0.1:1", "--insecure"))
        self.assertIn("--interval", self.refusal("status", "--interval", "soon", code=2))
        self.refusal("withdraw", code=2)

        two = [self.controller(BUILTIN, "--insecure", run=f"runs/{name}", name=name) for name in "ab"]
        for name, controller in zip("ab", two):
            self.address(controller, f"runs/{name}")
        several = self.refusal("status")
        self.assertIn("several controllers are running", several)
        self.assertIn("runs/a, runs/b", several)
        self.done("stop", "runs/a")
        two[0].end()
        self.assertIn("waiting", self.done("status"))  # the only one that is left
        plain = (self.home / "runs/b/address").read_text().strip()
        self.assertEqual(self.told("status", "--join", plain, "--insecure")["phase"], "waiting")
        self.done("stop")
        two[1].end()

    def test_a_learners_certificate_is_refused_and_audited(self):
        leader = self.controller(BUILTIN, *self.tls("controller"))
        address = self.address(leader)
        there = ["--join", f"localhost:{address.split(':')[1]}", *self.tls("site-1")]
        for command in (["status"], ["stop"], ["withdraw", "site-0"], ["export", "--out", "x.metis"]):
            self.assertIn("site-1 may not operate this federation", self.refusal(*command, *there))
        self.assertFalse((self.home / "x.metis").exists())
        self.wait_until(lambda: self.told("status", "run")["refusals"] == 4)
        self.assertEqual(self.told("status", "run")["phase"], "waiting")
        lines = [json.loads(line) for line in (self.home / "run/audit.jsonl").read_text().splitlines()]
        self.assertEqual([(line["reason"], line["name"]) for line in lines], 4 * [("role", "site-1")])
        self.done("stop", "run")
        leader.end()

    def test_every_command_has_help_with_an_example(self):
        for command in COMMANDS:
            said = self.done("help", command)
            self.assertIn(f"Example:\n  metis {command} ", said)
            self.assertEqual(said, self.done(command, "--help"))
            self.assertRegex(self.done("help"), rf"(?m)^  {command} +\w")

    def test_a_copy_of_a_run_does_not_operate_the_original(self):
        leader = self.controller(BUILTIN, "--insecure")
        self.address(leader)
        shutil.copytree(self.home / "run", self.home / "copy", ignore=shutil.ignore_patterns("*.sock"))
        self.assertIn("is not running", self.metis("pause", "copy").stderr)
        self.assertEqual(self.told("status", "run")["phase"], "waiting")
        leader.process.send_signal(signal.SIGTERM)
        leader.end()

    def test_another_user_is_told(self):
        if os.getuid() != 0:
            self.skipTest("becoming another user takes root")
        leader = self.controller(BUILTIN, "--insecure")
        self.address(leader)
        self.home.chmod(0o755)
        self.assertEqual((self.home / "run").stat().st_mode & 0o077, 0, "models of all sites are in it")
        # The build may lie in a home that nobody else may enter.
        for program in ("metis", "metis-operate"):
            shutil.copy(BIN / program, self.home)
        nobody = subprocess.run([str(self.home / "metis"), "status", "run"], cwd=self.home, capture_output=True,
                                text=True, timeout=60, user=65534, group=65534, extra_groups=[])
        self.assertEqual(nobody.returncode, 1)
        self.assertIn("is another user's", nobody.stderr)
        leader.process.send_signal(signal.SIGTERM)
        leader.end()


if __name__ == "__main__":
    unittest.main()
