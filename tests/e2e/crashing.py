"""What the tests of crashes share: a federation whose processes have several lives, and the laws of its record."""

import json
import random
import re
import signal
import sys
import time

from learning import LearningTest
from network_test import ENDLESS, LEARNERS, Member


def option(name, default):
    """The whole number of --NAME=N on the command line, which it leaves."""
    for word in sys.argv[1:]:
        if word.startswith(f"--{name}="):
            sys.argv.remove(word)
            return int(word.split("=", 1)[1])
    return default


SEED = option("seed", 1990)
FULL = "--full" in sys.argv
if FULL:
    sys.argv.remove("--full")

ACCEPTED = re.compile(r"accepted by the controller \(learner (\d+), incarnation (\d+)\)")
ACKNOWLEDGED = re.compile(r"^update (\d+) is acknowledged$", re.M)
TRAINS_FROM = re.compile(r"^trains from version (\d+)$", re.M)
GOING_ON = re.compile(r"going on at version (\d+) after (\d+) commits?")


def key_of(update):
    return update["learner"], update["incarnation"], update["sequence"]


class Record:
    """What events.jsonl shows of a run, whole lines only."""

    def __init__(self, path):
        self.received = {}  # update: fingerprints of its model as it came
        self.settled = {}  # update: how often it was committed or rejected
        self.models = []  # (version, fingerprint), as committed
        self.lost = []
        text = path.read_text() if path.exists() else ""
        for line in text[:text.rfind("\n") + 1].splitlines():
            self._take(json.loads(line))

    def _take(self, line):
        kind = line.get("event") or line["note"]
        if kind == "update":
            self.received.setdefault(key_of(line["id"]), set()).add(line["model"]["fingerprint"])
        elif kind == "committed":
            self.models.append((line["version"], line["model"]))
            for update in line["updates"]:
                self._settle(update["id"])
        elif kind == "rejected":
            self._settle(line["id"])
        elif kind == "lost":
            self.lost.append(line["learner"])

    def _settle(self, update):
        self.settled[key_of(update)] = self.settled.get(key_of(update), 0) + 1


class CrashTest(LearningTest):
    """A federation in self.home/run. Every life of a process has a log of its own."""

    settings = {**ENDLESS, "storage.snapshot_every": 37}

    def setUp(self):
        super().setUp()
        self.draw = random.Random(f"{SEED}/{self.id()}")
        self.run_path = self.home / "run"
        self.lives = {}  # name: Members, the latest last
        self.models = {}  # version: fingerprint, of all that any life of the record showed
        self.began = time.monotonic()

    def begin(self, settings, learners=LEARNERS, observer=True, through=lambda address: address,
              options=(), present=None):
        """Starts everybody, or of the learners the first that are `present`; participants dial
        through(address of the controller). The options are the learners'."""
        everything = {**self.settings, "federation.learners": learners, **settings}
        sets = [word for key, value in everything.items() for word in ("--set", f"{key}={value}")]
        self.life("controller", "--run", self.run_path, "--listen", "127.0.0.1:0", "--record",
                  "replayable", "--insecure", *sets)
        self.address = self.listening()
        self.dialled = through(self.address)
        if observer:
            observer = self.life("observer", "--join", self.dialled, "--insecure", "--name", "observer",
                                 "--data", "builtin")
            self.wait_until(lambda: "accepted" in observer.said())  # or it may come after the end
        self.sites = [f"site-{k}" for k in range(learners)]
        for site in self.sites[:present]:
            self.learner(site, *options)

    def life(self, name, *arguments):
        program = name if name in ("controller", "observer") else "learner"
        lives = self.lives.setdefault(name, [])
        lives.append(Member(self, f"{name}.{len(lives)}", [program, *arguments]))
        return lives[-1]

    def learner(self, site, *options):
        share = f"{self.sites.index(site)}/{len(self.sites)}"
        return self.life(site, "--join", self.dialled, "--insecure", "--name", site, "--data",
                         "builtin", "--share", share, *options)

    def listening(self):
        """The address of the controller's latest life, once it listens."""
        controller = self.lives["controller"][-1]
        self.wait_until(lambda: "listening on " in controller.said()
                        or controller.process.poll() is not None)
        self.assertIsNone(controller.process.poll(), controller.said())
        return re.search(r"listening on ([0-9.:]+),", controller.said())[1]

    def restart_controller(self):
        return self.life("controller", "--run", self.run_path, "--listen", self.address, "--insecure")

    def kill(self, name):
        process = self.lives[name][-1].process
        self.assertIsNone(process.poll(), f"{name} had ended:\n{self.lives[name][-1].said()}")
        process.kill()
        process.wait()

    # --- What participants have seen

    def version(self):
        """The latest version that any learner has begun to train from."""
        return max((int(found) for site in self.sites for life in self.lives.get(site, ())
                    for found in TRAINS_FROM.findall(life.said())), default=-1)

    def await_version(self, version):
        try:
            self.wait_until(lambda: self.version() >= version, seconds=120)
        except AssertionError:
            words = "\n".join(f"--- {name}\n{lives[-1].said()[-1500:]}"
                              for name, lives in self.lives.items())
            self.fail(f"version {version} does not come, only {self.version()}\n{words}")

    def acknowledged(self):
        """(learner, incarnation, sequence) of all updates that learners may have forgotten."""
        found = set()
        for site in self.sites:
            for life in self.lives[site]:
                accepted = ACCEPTED.search(life.said())
                if accepted:
                    found |= {(int(accepted[1]), int(accepted[2]), int(sequence))
                              for sequence in ACKNOWLEDGED.findall(life.said())}
        return found

    # --- Laws

    def look_at_record(self):
        """Versions are dense, and no life of the record showed another model under the same number."""
        record = Record(self.run_path / "events.jsonl")
        self.assertEqual([version for version, _ in record.models],
                         list(range(1, len(record.models) + 1)))
        for version, model in record.models:
            self.assertEqual(self.models.setdefault(version, model), model, f"version {version}")
        for update, fingerprints in record.received.items():
            self.assertEqual(len(fingerprints), 1, f"{update} came with different models")
        return record

    def finish(self):
        """Stopped by its operator, once the test has seen what it wants."""
        self.done("stop", self.run_path)
        return self.expect_finished()

    def expect_finished(self):
        """Everybody ends by itself; nothing acknowledged is lost, and a replay gives the same bits."""
        self.lives["controller"][-1].end()
        for name, lives in self.lives.items():
            lives[-1].end()
        record = self.look_at_record()
        self.assertEqual(len(record.models), len(self.models), "versions that were seen are missing")
        acknowledged = self.acknowledged()
        self.assertGreater(len(acknowledged), 0)
        for update in acknowledged:
            self.assertIn(update, record.received, f"{update} was acknowledged and is not recorded")
            self.assertIn(update, record.settled, f"{update} was neither committed nor rejected")
        summary = json.loads((self.run_path / "summary.json").read_text())
        self.assertTrue(summary["complete"])
        replayed = self.told("replay", self.run_path)
        self.assertTrue(replayed["compared_with_summary"])
        self.assertEqual(replayed["version"], summary["version"])
        final = self.told("model", "info", self.run_path / "final.metis")
        self.assertEqual((summary["version"], final["fingerprint"]), record.models[-1])
        print(f"{self.id().split('.')[-1]}: version {summary['version']}, {len(acknowledged)} updates "
              f"acknowledged, {len(record.received)} recorded, "
              f"{len(self.lives['controller'])} lives of the controller, "
              f"{sum(len(self.lives[site]) for site in self.sites)} of {len(self.sites)} learners, "
              f"{time.monotonic() - self.began:.0f} s", flush=True)
        return record

    # --- Signals

    def signal(self, name, number):
        self.lives[name][-1].process.send_signal(number)

    def stop(self, name):
        """Suspended; continued at the latest when the test ends."""
        self.signal(name, signal.SIGSTOP)
        self.addCleanup(self.lives[name][-1].process.send_signal, signal.SIGCONT)
