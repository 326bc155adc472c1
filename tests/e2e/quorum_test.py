"""A federation that lacks learners: it begins without the last ones, pauses without its quorum, and waits for no
evaluator beyond a deadline.

Usage: quorum_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import json
import signal
import unittest

from crashing import CrashTest

SLOWLY = ("--slowdown", "50")  # some commits a second


class LackingTest(CrashTest):
    def status(self):
        return self.told("status", "run")

    def await_status(self, true):
        """The first status of which it is true."""
        seen = [self.status()]
        try:
            self.wait_until(lambda: true(seen[-1]) or seen.append(self.status()))
        except AssertionError:
            self.fail(f"waited too long:\n{self.done('status', 'run')}")
        return seen[-1]

    def states(self, status):
        """Of learners, by name."""
        return {each["name"]: each["state"] for each in status["participants"]}

    def updates(self, status, site):
        """How many of this learner were committed; 0 if it has not come yet."""
        return sum(each["updates"] for each in status["participants"] if each["name"] == site)

    def said(self):
        return self.lives["controller"][-1].said()

    def lines(self):
        """Those of the record that are whole."""
        text = (self.run_path / "events.jsonl").read_text()
        return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


class QuorumTest(LackingTest):
    def test_a_federation_begins_without_the_last_learner_and_takes_it_up_later(self):
        # Three numbers for three things: who is expected, with how many it begins, without how many it pauses.
        self.begin({"federation.start_with": 3, "federation.quorum": 2, "storage.durability": "none"},
                   observer=False, options=SLOWLY, present=2)
        waiting = self.await_status(lambda status: len(self.states(status)) == 2)
        self.assertEqual((waiting["phase"], waiting["phase_reason"], waiting["version"]),
                         ("waiting", "2 of 3 learners there", 0))
        self.assertRegex(self.done("status", "run"), r"(?m)^waiting: 2 of 3 learners there$")

        self.learner("site-2", *SLOWLY)
        running = self.await_status(lambda status: status["requests"] >= 6)
        self.assertEqual((running["phase"], set(self.states(running))),
                         ("running", {"site-0", "site-1", "site-2"}))
        self.assertIn("the federation is running: 3 learners have joined", self.said())

        self.learner("site-3", *SLOWLY)
        self.await_status(lambda status: self.updates(status, "site-3") >= 2)
        self.finish()
        summary = json.loads((self.run_path / "summary.json").read_text())
        self.assertEqual(sorted(each["name"] for each in summary["learners"] if each["contribution"] > 0),
                         self.sites)
        self.assertFalse((self.run_path / "state.db").exists())  # nothing was to survive the process

    def test_without_its_quorum_nothing_is_committed_until_learners_are_back(self):
        gone = "quorum is gone: 2 live learners, 3 needed"
        self.begin({"federation.quorum": 3, "membership.silence": "8s"}, observer=False, options=SLOWLY)
        self.await_status(lambda status: status["requests"] >= 6)
        self.kill("site-1")
        fewer = self.await_status(lambda status: self.states(status)["site-1"] == "lost")
        self.await_status(lambda status: status["requests"] >= fewer["requests"] + 6)  # three are enough

        self.kill("site-3")
        # Those who are left have sent what they have: from here on only a mistake could commit anything.
        held = self.await_status(lambda status: status["phase_reason"] == gone and
                                 {self.states(status)[site] for site in ("site-0", "site-2")} == {"committing"})
        self.assertEqual((held["phase"], self.states(held)["site-3"]), ("paused", "lost"))
        self.assertRegex(self.done("status", "run"), rf"(?m)^paused: {gone}$")
        self.assertIn(f"the federation is paused: {gone}", self.said())
        self.assertIn(gone, self.done("resume", "run"))  # an operator's word makes no quorum
        self.assertEqual(self.status()["version"], held["version"])

        for site in ("site-1", "site-3"):
            self.learner(site, *SLOWLY)
        self.await_status(lambda status: status["phase"] == "running" and
                          all(self.updates(status, site) >= self.updates(held, site) + 2 for site in self.sites))
        self.finish()
        pauses, committed = self.pauses()
        self.assertGreaterEqual(pauses, 1)
        self.assertEqual(committed, [], "versions that were committed in a pause")

    def pauses(self):
        """How often the record is paused, and which versions it commits meanwhile."""
        paused, pauses, committed = False, 0, []
        for line in self.lines():
            if line.get("note") == "state":
                pauses += line["phase"] == "paused" and not paused
                paused = line["phase"] == "paused"
            elif line.get("note") == "committed" and paused:
                committed.append(line["version"])
        return pauses, committed


class SuspendedEvaluatorTest(LackingTest):
    # Nobody is lost however slow the machine is: it is the deadline that lets the others go on.
    settings = {**CrashTest.settings, "validation.deadline": "1s", "membership.silence": "5min"}

    def commits_of_others(self, site):
        """Of each, whether everybody who was asked has evaluated it, this learner among them."""
        lines = self.lines()
        number = next(line["learner"] for line in lines if line.get("name") == site)
        return [update["coverage"] == 1 for line in lines if line.get("note") == "committed"
                for update in line["updates"] if update["id"]["learner"] != number]

    def test_commits_go_on_without_it_and_it_takes_part_again(self):
        self.begin({"federation.policy": "async-dvw"}, observer=False, options=SLOWLY)
        self.await_status(lambda status: all(self.updates(status, site) >= 2 for site in self.sites))
        self.stop("site-1")
        without = self.commits_of_others("site-1").count(False)
        before = self.status()["requests"]
        # More than can have been under way.
        self.wait_until(lambda: self.commits_of_others("site-1").count(False) >= without + 8)
        stopped = self.await_status(lambda status: status["requests"] >= before + 8)
        self.assertNotEqual(self.states(stopped)["site-1"], "lost")

        everybody = self.commits_of_others("site-1").count(True)
        self.signal("site-1", signal.SIGCONT)
        self.await_status(lambda status: self.updates(status, "site-1") >= self.updates(stopped, "site-1") + 2)
        self.wait_until(lambda: self.commits_of_others("site-1").count(True) >= everybody + 3)
        self.assertEqual(self.finish().lost, [])


if __name__ == "__main__":
    unittest.main()
