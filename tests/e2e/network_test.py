"""A federation over the network as its users start it: processes, certificates, loopback.

Usage: network_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import json
import os
import resource
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from learning import BIN, LearningTest, write_images

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
LEARNERS = 4
ASYNC = ["async-fedavg", "fedasync", "async-dvw", "async-dvw-adaptive"]
SYNC = ["sync-fedavg", "sync-dvw"]
DVW = ["sync-dvw", "async-dvw", "async-dvw-adaptive"]

# Small and unequal: a few seconds each.
BUILTIN = {"federation.learners": LEARNERS, "data.sizes": "skewed", "builtin.training_examples": 600,
           "builtin.test_examples": 200, "builtin.separation": 3, "training.batch_size": 20,
           "training.learning_rate": 0.002, "trigger.local_epochs": 1, "trigger.max_epochs": 3,
           "test.every_commits": 1, "membership.retry": "200ms", "membership.heartbeat": "500ms",
           "membership.silence": "30s"}
# The same for images of Fashion-MNIST: a real network, half a minute for all six policies.
IMAGES = {**{key: value for key, value in BUILTIN.items() if not key.startswith("builtin.")},
          "data.dataset": "fashion-mnist", "data.examples": 1200, "data.test_examples": 300,
          "training.learning_rate": 0.03, "trigger.local_epochs": 2, "test.every_commits": 4}
# Without an end of its own: however fast the machine, nothing ends before the test has seen enough.
ENDLESS = {**BUILTIN, "federation.policy": "async-dvw", "stop.duration": "10h", "storage.snapshot_every": 20}


class Member:
    """A process of the federation, what it says in files."""

    def __init__(self, test, name, arguments, limit=None):
        self.log = test.home / f"{name}.log"
        self.test = test
        limits = None if limit is None else (
            lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(  # the program itself, so that signals reach it
                [str(BIN / f"metis-{arguments[0]}"), *map(str, arguments[1:])], cwd=test.home,
                env=dict(os.environ, HOME=str(test.home)), stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, preexec_fn=limits)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)

    def said(self):
        return self.log.read_text()

    def end(self, code=0, seconds=300):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.test.fail(f"{self.log.name} does not end:\n{self.said()}")
        self.test.assertEqual(self.process.returncode, code, self.said())
        return self.said()


class NetworkTest(LearningTest):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.certificates = Path(directory.name)
        names = ["controller", "observer", *(f"site-{k}" for k in range(LEARNERS))]
        subprocess.run([SCRIPTS / "make_certificates.sh", cls.certificates, *names], check=True)

    def tls(self, name):
        return ["--ca", self.certificates / "ca.pem", "--certificate", self.certificates / f"{name}.pem",
                "--key", self.certificates / f"{name}.key"]

    def controller(self, settings, *options, run="run", name="controller", **more):
        sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        member = Member(self, name, ["controller", "--run", run, "--listen", "127.0.0.1:0",
                                     "--record", "replayable", *sets, *options], **more)
        return member

    def address(self, controller, run="run"):
        path = self.home / run / "address"
        self.wait_until(lambda: controller.process.poll() is not None
                        or (path.exists() and path.read_text().endswith("\n")))
        self.assertIsNone(controller.process.poll(), controller.said())
        return path.read_text().strip()

    def observer(self, address, *options):
        """Joined before the learners begin: version 0 is tested, too."""
        observer = Member(self, "observer", ["observer", "--join", address, *options])
        self.wait_until(lambda: "accepted" in observer.said() or observer.process.poll() is not None)
        return observer

    def participants(self, address, data="builtin", *options):
        members = [self.observer(address, "--data", data, *self.tls("observer"))]
        for k in range(LEARNERS):
            members.append(Member(self, f"site-{k}", ["learner", "--join", address, "--data", data,
                                                      "--share", f"{k}/{LEARNERS}", *options,
                                                      *self.tls(f"site-{k}")]))
        return members

    def summary(self, run="run"):
        return json.loads((self.home / run / "summary.json").read_text())

    def expect_whole(self, policy, run="run"):
        """What holds for every finished run."""
        summary = self.summary(run)
        self.assertTrue(summary["complete"])
        self.assertEqual(summary["policy"], policy)
        requests, evaluated = summary["update_requests"], summary["models_for_evaluation"]
        self.assertEqual(summary["models_exchanged"], 2 * requests + evaluated)
        if policy == "sync-dvw":
            self.assertEqual(summary["models_exchanged"], (LEARNERS + 1) * requests)
        elif policy in DVW:  # those in flight at the end were evaluated, but are no requests
            self.assertGreaterEqual(evaluated, (LEARNERS - 1) * requests)
            self.assertLessEqual(evaluated, (LEARNERS - 1) * (requests + LEARNERS))
        else:
            self.assertEqual(evaluated, 0)
        tests = summary["tests"]
        self.assertEqual(tests[0]["version"], 0)
        self.assertGreater(summary["accuracy"]["best"], tests[0]["accuracy"] + 0.2, tests)
        replayed = self.told("replay", run)
        final = self.told("model", "info", f"{run}/final.metis")
        self.assertEqual(final["facts"]["version"], str(summary["version"]))
        self.assertTrue(replayed["compared_with_summary"])
        self.assertEqual(replayed["version"], summary["version"])
        self.assertFalse((self.home / run / "address").exists())
        return summary


class PoliciesTest(NetworkTest):
    """A controller, an observer and four learners that train a network on images."""

    def federation(self, policy, **settings):
        self.done("model", "init", "mnist-cnn", "--dataset", "fashion-mnist", "--out", "initial.metis")
        stop = {"stop.rounds": 4} if policy in SYNC else {"stop.requests": 16}
        controller = self.controller({**IMAGES, **stop, **settings, "federation.policy": policy},
                                     "--model", "initial.metis", *self.tls("controller"))
        members = self.participants(self.address(controller), "fashion-mnist")
        self.assertIn("finished", controller.end())
        for member in members:
            member.end()
        summary = self.expect_whole(policy)
        best = self.told("model", "info", "run/best.metis")["facts"]
        self.assertEqual(best["architecture"], "mnist-cnn")
        self.assertEqual(float(best["accuracy"]), summary["accuracy"]["best"])
        self.assertEqual(sorted(each["name"] for each in summary["learners"]),
                         [f"site-{k}" for k in range(LEARNERS)])
        self.assertEqual(summary["version" if policy in SYNC else "update_requests"],
                         4 if policy in SYNC else 16)
        self.assertIn("accuracy", members[0].said())
        self.assertIn(policy, self.done("compare", "run"))
        self.done("report", "run", "--out", "page.html")
        self.assertGreater(self.size("page.html"), 100_000)

    def test_sync_fedavg(self):
        self.federation("sync-fedavg")

    def test_sync_dvw(self):
        self.federation("sync-dvw")

    def test_async_fedavg(self):
        self.federation("async-fedavg")

    def test_fedasync(self):
        self.federation("fedasync")

    def test_async_dvw(self):
        self.federation("async-dvw", **{"network.transfer": "zstd", "storage.memory_mb": 1})

    def test_async_dvw_adaptive(self):
        self.federation("async-dvw-adaptive")


class RealDataTest(NetworkTest):
    def test_models_that_no_snapshot_needs_leave_the_disk_without_durability(self):
        self.done("model", "init", "mnist-cnn", "--dataset", "fashion-mnist", "--out", "initial.metis")
        settings = {**IMAGES, "federation.policy": "async-fedavg", "data.examples": 200,
                    "trigger.local_epochs": 1, "stop.duration": "10h", "storage.durability": "none",
                    "storage.memory_mb": 1, "storage.snapshot_every": 10}
        controller = self.controller(settings, "--model", "initial.metis", *self.tls("controller"))
        members = self.participants(self.address(controller), "fashion-mnist")
        self.wait_until(lambda: self.requests() >= 60)
        kept = len([path for path in (self.home / "run/blobs").rglob("*") if path.is_file()])
        # The learners' latest, those of ten events, and the lock.
        self.assertLessEqual(kept, LEARNERS + 10 + 1)
        self.assertGreaterEqual(kept, LEARNERS - 1)
        self.done("stop", "run")
        controller.end()
        for member in members:
            member.end()

    def test_sites_with_files_of_their_own(self):
        for name, seed, counts in [("a", 3, (60, 40, 30)), ("b", 4, (50, 70, 20))]:
            write_images(self.home / f"{name}.npz", seed=seed, counts=counts)
        write_images(self.home / "test.npz", seed=5, counts=(40, 30, 20))
        self.done("model", "init", "auto", "--dataset", "a.npz", "--out", "initial.metis")
        settings = {"federation.learners": 2, "federation.policy": "sync-dvw", "stop.rounds": 3,
                    "data.dataset": "a.npz", "training.batch_size": 10, "test.every_commits": 1}
        controller = self.controller(settings, "--model", "initial.metis", "--insecure")
        address = self.address(controller)
        learner = ["learner", "--join", address, "--insecure"]
        members = [self.observer(address, "--insecure", "--name", "observer", "--data", "test.npz",
                                 "--whole"),
                   Member(self, "a", [*learner, "--name", "a", "--data", "a.npz"]),
                   Member(self, "b", [*learner, "--name", "b", "--data", "b.npz", "--faulty",
                                      "labels=constant:0"])]
        controller.end()
        for member in members:
            member.end()
        held = {each["name"]: each for each in self.summary()["learners"]}
        for name, examples in [("a", 130), ("b", 140)]:
            self.assertEqual(held[name]["training_examples"] + held[name]["validation_examples"],
                             examples)
        self.assertIn("90 test examples", members[0].said())


class RestartTest(NetworkTest):
    def test_a_controller_that_was_ended_or_killed_goes_on(self):
        controller = self.controller(ENDLESS, *self.tls("controller"), name="first")
        address = self.address(controller)
        members = self.participants(address)
        self.wait_until(lambda: self.requests() >= 10)
        controller.process.send_signal(signal.SIGINT)
        said = controller.end()
        self.assertIn("metis controller --run run", said)
        self.assertFalse(self.summary()["complete"])
        seen = self.requests()

        other = self.refusal("controller", "--run", "run", "--set", "federation.seed=7",
                             *self.tls("controller"))
        self.assertIn("belongs to another federation", other)

        again = ["controller", "--run", "run", "--listen", address, *self.tls("controller")]
        controller = Member(self, "second", again)
        self.address(controller)
        self.wait_until(lambda: self.requests() >= seen + 15)
        controller.process.kill()
        controller.process.wait()
        self.assertRegex(controller.said(), r"going on at version \d+ after \d+ commits")
        killed = self.requests()

        controller = Member(self, "third", again)
        self.address(controller)
        self.wait_until(lambda: self.requests() >= killed + 15)
        self.done("stop", "run")
        controller.end()
        for member in members:
            member.end()
        summary = self.expect_whole("async-dvw")
        self.assertGreaterEqual(summary["update_requests"], killed + 15)
        self.assertIn("is finished", Member(self, "fourth", again).end())

    def test_a_controller_whose_disk_gives_no_model_back_ends_and_goes_on_once_it_does(self):
        self.done("model", "init", "mnist-cnn", "--dataset", "fashion-mnist", "--out", "initial.metis")
        settings = {**IMAGES, "federation.policy": "async-fedavg", "data.examples": 200, "trigger.local_epochs": 1,
                    "stop.duration": "10h", "storage.memory_mb": 1}  # one model: the others are on the disk
        controller = self.controller(settings, "--model", "initial.metis", *self.tls("controller"), name="first")
        address = self.address(controller)
        members = self.participants(address, "fashion-mnist")
        self.wait_until(lambda: self.requests() >= 10)
        away = self.home / "away"
        away.mkdir()
        models = [path for path in (self.home / "run/blobs").iterdir() if len(path.name) == 64]
        for path in models:
            path.rename(away / path.name)
        said = controller.end(75)
        self.assertIn("run/blobs/", said)
        self.assertIn("the disk did not give a model back. Start it again", said)
        self.assertFalse((self.home / "run/summary.json").exists(), "its state is not what its log says")
        seen = self.requests()

        again = ["controller", "--run", "run", "--listen", address, *self.tls("controller")]
        self.assertIn("restore it from a copy", self.refusal(*again))
        for path in models:
            (away / path.name).rename(path)
        controller = Member(self, "second", again)
        self.address(controller)
        self.wait_until(lambda: self.requests() >= seen + 10)
        self.done("stop", "run")
        controller.end()
        for member in members:
            member.end()
        replayed = self.told("replay", "run")
        self.assertTrue(replayed["compared_with_summary"])
        self.assertEqual(replayed["version"], self.summary()["version"])

    def test_a_learner_that_leaves_is_not_waited_for(self):
        controller = self.controller({**ENDLESS, "federation.policy": "sync-fedavg"}, "--insecure")
        address = self.address(controller)
        learners = [Member(self, f"site-{k}", ["learner", "--join", address, "--insecure", "--name",
                                               f"site-{k}", "--data", "builtin", "--share",
                                               f"{k}/{LEARNERS}"]) for k in range(LEARNERS)]
        self.wait_until(lambda: self.requests() >= 3)
        learners[1].process.send_signal(signal.SIGINT)
        learners[1].end()
        self.wait_until(lambda: "site-1 has left" in controller.said())
        seen = self.requests()
        self.wait_until(lambda: self.requests() >= seen + 3)
        self.done("stop", "run")
        controller.end()
        for learner in learners:
            learner.end()


class MistakesTest(NetworkTest):
    def test_of_the_controller(self):
        tls = self.tls("controller")
        real = ["--run", "none", "--set", "data.dataset=fashion-mnist"]
        self.assertIn("metis model init auto --dataset fashion-mnist --seed 1990 --out initial.metis",
                      self.refusal("controller", *real, *tls))
        self.assertIn("--insecure on this machine alone", self.refusal("controller", "--run", "none"))
        self.assertIn("--listen", self.refusal("controller", "--run", "none", "--listen", "nowhere"))
        public = self.refusal("controller", "--run", "none", "--listen", "0.0.0.0:0", "--insecure")
        self.assertIn("--insecure is for this machine alone", public)
        self.assertIn("0.0.0.0", public)
        self.assertIn("--key is missing", self.refusal("controller", "--run", "none", *tls[:4]))
        self.assertIn("nothing.pem", self.refusal("controller", "--run", "none", "--ca", "nothing.pem",
                                                  *tls[2:]))
        self.done("model", "init", "mlp:8", "--shape", "20", "--classes", "10", "--out", "m.metis")
        other = self.refusal("controller", "--run", "none", "--model", "m.metis", "--set",
                             "training.model=mnist-cnn", *tls)
        self.assertIn("mlp:8", other)
        self.assertFalse((self.home / "none").exists())

    def test_of_participants_before_anything_is_dialled(self):
        here = ["--join", "127.0.0.1:1"]
        for program in ("learner", "observer"):
            self.assertIn("--join", self.refusal(program, "--data", "builtin", code=2))
            self.assertIn("--data", self.refusal(program, *here, code=2))
            self.assertIn("a federation speaks TLS",
                          self.refusal(program, *here, "--data", "builtin"))
            self.assertIn("give --name",
                          self.refusal(program, *here, "--data", "builtin", "--insecure"))
            self.assertIn("this machine alone",
                          self.refusal(program, "--join", "example.com:7740", "--data", "builtin",
                                       "--insecure", "--name", "x"))
            self.assertIn("is for site-1", self.refusal(program, *here, "--data", "builtin", "--name",
                                                        "site-2", *self.tls("site-1")))
        self.assertIn("K/N", self.refusal("learner", *here, "--data", "builtin", "--share", "4/4",
                                          code=2))
        self.assertIn("What never leaves it", self.done("learner", "--explain-privacy"))

    def test_a_wrong_port_is_said_and_dialled_again(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        learner = Member(self, "lost", ["learner", "--join", f"127.0.0.1:{port}", "--data", "builtin",
                                        "--share", "0/4", *self.tls("site-0")])
        self.wait_until(lambda: "dialling again" in learner.said())
        learner.process.send_signal(signal.SIGTERM)
        self.assertIn(f"127.0.0.1:{port}", learner.end())

    def test_who_may_not_join_is_told_why(self):
        write_images(self.home / "images.npz")
        controller = self.controller(BUILTIN, *self.tls("controller"))
        address = self.address(controller)
        join = ["--join", address, "--data", "builtin", "--share", "0/4"]
        plain = Member(self, "plain", ["learner", *join, "--insecure", "--name", "site-0"])
        self.wait_until(lambda: "does it speak TLS?" in plain.said())
        plain.process.send_signal(signal.SIGTERM)
        plain.end()
        other = self.refused("other", "learner", "--join", address, "--data", "images.npz",
                             *self.tls("site-1"))
        self.assertIn("the federation's is weight 10x", other)
        self.assertIn("is it the right data set?", other)
        group = self.refused("group", "learner", *join, "--group", "fsat", *self.tls("site-0"))
        self.assertIn("did you mean fast?", group)
        subprocess.run([SCRIPTS / "make_certificates.sh", self.home / "strangers", "site-0"],
                       check=True)
        stranger = [self.home / "strangers" / name for name in ("ca.pem", "site-0.pem", "site-0.key")]
        self.refused("stranger", "learner", *join, "--ca", stranger[0], "--certificate", stranger[1],
                     "--key", stranger[2])
        controller.process.send_signal(signal.SIGTERM)
        controller.end()
        lines = (self.home / "run/audit.jsonl").read_text().splitlines()
        reasons = {json.loads(line)["reason"] for line in lines}
        self.assertIn("tls", reasons)  # plain text, if not the stranger

    def refused(self, name, *arguments):
        """What a participant says that gives up by itself."""
        return Member(self, name, arguments).end(code=1)


if __name__ == "__main__":
    unittest.main()
