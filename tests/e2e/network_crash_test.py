"""Processes of a federation are killed, suspended, cut off and starved of disk: nothing acknowledged is lost.

Usage: network_crash_test.py DIRECTORY_OF_THE_PROGRAMS [--full] [--seed=N]

--full takes many minutes: 50 kills of each kind, 20 cuts in each direction.
"""

import json
import os
import signal
import subprocess
import time
import unittest

from crashing import FULL, GOING_ON, SEED, CrashTest, Record
from cutting_proxy import DOWN, UP, CuttingProxy

KILLS = 50 if FULL else 4
CUTS = 20 if FULL else 3


class KilledTest(CrashTest):
    """A process ends with `kill -9` at any moment and is started again."""

    def requests(self, kills):
        return {"stop.requests": 30 * kills + 20}

    def kill_controller_repeatedly(self, policy):
        self.begin({"federation.policy": policy, **self.requests(KILLS)})
        seen = 0
        for number in range(KILLS):
            self.await_version(seen + self.draw.randint(1, 6))
            time.sleep(self.draw.uniform(0, 0.2))  # any moment, also between two messages
            self.kill("controller")
            seen = self.version()
            self.look_at_record()
            if number % 5 == 4:  # and again while it starts
                controller = self.restart_controller()
                time.sleep(self.draw.uniform(0, 0.3))
                self.kill("controller")
                self.look_at_record()
            controller = self.restart_controller()
            self.listening()
            again = GOING_ON.search(controller.said())
            self.assertIsNotNone(again, controller.said())
            self.assertGreaterEqual(int(again[1]), seen, "a version that was sent is gone")
            seen = int(again[1])
        self.await_version(seen + 1)
        record = self.expect_finished()
        self.assertTrue(all(times == 1 for times in record.settled.values()), record.settled)

    def test_async_fedavg_controller(self):
        self.kill_controller_repeatedly("async-fedavg")

    def test_async_dvw_controller(self):
        self.kill_controller_repeatedly("async-dvw")

    def kill_learners_repeatedly(self, policy):
        self.begin({"federation.policy": policy, **self.requests(KILLS)})
        for _ in range(KILLS):
            site = self.draw.choice(self.sites)
            before = self.lives[site][-1]
            self.wait_until(lambda: "trains from version" in before.said())
            time.sleep(self.draw.uniform(0, 0.2))
            self.kill(site)
            seen = self.version()
            again = self.learner(site)
            self.wait_until(lambda: "trains from version" in again.said()
                            or again.process.poll() is not None)
            self.assertIsNone(again.process.poll(), again.said())
            self.await_version(seen + 1)
        self.expect_finished()

    def test_async_fedavg_learners(self):
        self.kill_learners_repeatedly("async-fedavg")

    def test_async_dvw_learners(self):
        self.kill_learners_repeatedly("async-dvw")


if __name__ == "__main__":
    print(f"seed {SEED}{', in full' if FULL else ''}", flush=True)
    unittest.main()
