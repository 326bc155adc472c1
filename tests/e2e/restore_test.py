"""Backup and restore as docs/operations.md has it: a federation goes on from an older copy of its run.

Usage: restore_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import shutil
import signal
import unittest

from network_test import ENDLESS, LEARNERS, Member, NetworkTest


class RestoreTest(NetworkTest):
    def updates(self):
        """Of each learner, those that count."""
        return {each["name"]: each["updates"] for each in self.told("status", "run")["participants"]
                if each["role"] == "learner"}

    def stop(self, controller):
        controller.process.send_signal(signal.SIGTERM)
        controller.end()

    def go_on(self, name, address):
        controller = Member(self, name, ["controller", "--run", "run", "--listen", address,
                                         *self.tls("controller")])
        self.address(controller)
        return controller

    def test_a_federation_goes_on_from_an_older_copy(self):
        controller = self.controller(ENDLESS, *self.tls("controller"))
        address = self.address(controller)
        members = self.participants(address)
        self.wait_until(lambda: self.requests() >= 10)
        self.stop(controller)
        shutil.copytree(self.home / "run", self.home / "backup")
        backed_up = self.requests()

        controller = self.go_on("second", address)
        self.wait_until(lambda: self.requests() >= backed_up + 15)
        self.stop(controller)
        shutil.rmtree(self.home / "run")  # the disk of the controller is gone
        shutil.copytree(self.home / "backup", self.home / "run")
        self.assertEqual(self.requests(), backed_up)
        doctor = {each["id"] for each in self.told("doctor", "--run", "run")["findings"]}
        self.assertIn("run.goes-on", doctor)

        controller = self.go_on("third", address)  # whom the participants know better than it knows itself
        self.expect_progress(controller, members, backed_up)

    def test_rounds_and_an_observer_that_the_copy_does_not_know_go_on_too(self):
        settings = {**ENDLESS, "federation.policy": "sync-fedavg"}
        controller = self.controller(settings, *self.tls("controller"))
        address = self.address(controller)
        members = [Member(self, f"site-{k}", ["learner", "--join", address, "--data", "builtin", "--share",
                                              f"{k}/{LEARNERS}", *self.tls(f"site-{k}")]) for k in range(LEARNERS)]
        self.wait_until(lambda: self.requests() >= 5)
        self.stop(controller)  # most likely while some have reported
        shutil.copytree(self.home / "run", self.home / "backup")
        backed_up = self.requests()

        controller = self.go_on("second", address)
        members.append(self.observer(address, "--data", "builtin", *self.tls("observer")))
        self.wait_until(lambda: self.requests() >= backed_up + 10)
        self.stop(controller)
        shutil.rmtree(self.home / "run")
        shutil.copytree(self.home / "backup", self.home / "run")

        controller = self.go_on("third", address)
        self.wait_until(lambda: '"tested"' in (self.home / "run/events.jsonl").read_text())
        self.expect_progress(controller, members, backed_up)

    def expect_progress(self, controller, members, backed_up):
        before = self.updates()
        self.wait_until(lambda: all(now > before.get(name, 0) + 3 for name, now in self.updates().items()))
        self.done("stop", "run")
        controller.end()
        for member in members:
            member.end()
        summary = self.summary()
        self.assertTrue(summary["complete"])
        self.assertGreaterEqual(summary["update_requests"], backed_up + 3 * LEARNERS)
        self.assertTrue(self.told("replay", "run"))  # the record is one run, without a seam


if __name__ == "__main__":
    unittest.main()
