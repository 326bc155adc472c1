"""Processes of a federation are killed, suspended, cut off and starved of disk: nothing acknowledged is lost.

Usage: network_crash_test.py DIRECTORY_OF_THE_PROGRAMS [--full] [--seed=N]

--full takes many minutes: 50 kills of each kind, 20 cuts in each direction.
"""

import os
import signal
import subprocess
import time
import unittest

from crashing import FULL, GOING_ON, SEED, CrashTest
from cutting_proxy import DOWN, UP, CuttingProxy

KILLS = 50 if FULL else 2
CUTS = 20 if FULL else 2


class KilledTest(CrashTest):
    """A process ends with `kill -9` at any moment and is started again."""

    # After breaks before any work was done a learner dials only every 40 s: it is waited for at the end all the same.
    settings = {**CrashTest.settings, "membership.silence": "120s"}
    # Some commits a second.
    SLOWLY = ("--slowdown", "400")
    MORE_SLOWLY = ("--slowdown", "2000")  # a learner takes longer to start than a controller

    def kill_controller_repeatedly(self, policy):
        self.begin({"federation.policy": policy}, options=self.SLOWLY)
        seen = 0
        for number in range(KILLS):
            self.await_version(seen + self.draw.randint(1, 6))
            time.sleep(self.draw.uniform(0, 0.2))  # any moment, also between two messages
            self.kill("controller")
            seen = self.version()
            self.look_at_record()
            if number % 5 == 4:  # and again while it starts
                self.restart_controller()
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
        record = self.finish()
        self.assertEqual({update for update, times in record.settled.items() if times > 1}, set())

    def test_async_fedavg_controller(self):
        self.kill_controller_repeatedly("async-fedavg")

    def test_async_dvw_controller(self):
        self.kill_controller_repeatedly("async-dvw")

    def kill_learners_repeatedly(self, policy):
        self.begin({"federation.policy": policy}, options=self.MORE_SLOWLY)
        for _ in range(KILLS):
            site = self.draw.choice(self.sites)
            self.await_training(site)
            time.sleep(self.draw.uniform(0, 0.2))
            self.kill(site)
            seen = self.version()
            self.learner(site, *self.MORE_SLOWLY)
            self.await_training(site)
            self.await_version(seen + 1)
        self.finish()

    def await_training(self, site):
        life = self.lives[site][-1]
        self.wait_until(lambda: "trains from version" in life.said()
                        or life.process.poll() is not None)
        self.assertIsNone(life.process.poll(), life.said())

    def test_async_fedavg_learners(self):
        self.kill_learners_repeatedly("async-fedavg")

    def test_async_dvw_learners(self):
        self.kill_learners_repeatedly("async-dvw")


class CutTest(CrashTest):
    """Connections break in the middle of a model: it goes on where it stopped, and is never seen in part."""

    PARAMETERS = 20 * (200_000 + 1)
    MODEL = 4 * PARAMETERS  # bytes, 16 chunks
    settings = {**CrashTest.settings, "federation.policy": "async-fedavg", "builtin.classes": 20,
                "builtin.features": 200_000, "builtin.training_examples": 40,
                "builtin.test_examples": 20, "training.batch_size": 40, "test.every_commits": 1000,
                "storage.snapshot_every": 10}

    def cut_repeatedly(self, direction):
        proxies = []

        def through(address):
            proxies.append(CuttingProxy(address))
            self.addCleanup(proxies[0].close)
            return proxies[0].address

        self.begin({}, learners=1, observer=False, through=through)
        proxy = proxies[0]
        for number in range(1, CUTS + 1):
            proxy.cut_after(direction, self.draw.randrange(1, self.MODEL))
            self.wait_until(lambda: proxy.cuts == number)
            self.await_version(self.version() + 1)
        record = self.finish()
        trained = sum(life.said().count("trains from version") for life in self.lives["site-0"])
        needed = {UP: len(record.received), DOWN: trained}[direction] * self.MODEL
        more = proxy.bytes(direction) - needed
        print(f"  {CUTS} cuts, {needed / 1e6:.0f} MB needed, {more / 1e6:.1f} MB more {direction}")
        self.assertGreater(more, 0)
        self.assertLess(more, 2 * self.MODEL)

    def test_uploads(self):
        self.cut_repeatedly(UP)

    def test_downloads(self):
        self.cut_repeatedly(DOWN)


class SuspendedTest(CrashTest):
    """SIGSTOP for longer than membership.silence, then SIGCONT."""

    settings = {**CrashTest.settings, "membership.heartbeat": "1s", "membership.silence": "8s"}
    SILENCE = 8

    def test_a_controller_that_was_suspended_declares_nobody_lost(self):
        self.begin({}, options=("--slowdown", "50"))
        self.await_version(5)
        for _ in range(3 if FULL else 1):
            self.stop("controller")
            time.sleep(1.5 * self.SILENCE)
            self.signal("controller", signal.SIGCONT)
            self.await_version(self.version() + 10)
        record = self.finish()
        self.assertEqual(record.lost, [])

    def test_a_learner_that_was_suspended_is_lost_and_returns(self):
        self.begin({}, options=("--slowdown", "50"))
        self.await_version(5)
        said, times = self.lives["controller"][0].said, 3 if FULL else 1
        for _ in range(times):
            before = said().count("site-2 is lost")
            self.stop("site-2")
            self.wait_until(lambda: said().count("site-2 is lost") > before)
            self.await_version(self.version() + 5)
            self.signal("site-2", signal.SIGCONT)
            self.wait_until(lambda: said().count("site-2 has returned") > before)
        record = self.finish()
        self.assertEqual(len(record.lost), times)
        self.assertEqual(len(set(record.lost)), 1, "others were lost, too")

    def away_at_the_end(self, heartbeat, before=0, after=0, silence="20s"):
        """A learner is suspended for these seconds before the end and after it."""
        self.begin({"membership.silence": silence, "membership.heartbeat": heartbeat,
                    "federation.policy": "async-fedavg"})
        self.await_version(5)
        self.stop("site-3")
        time.sleep(before)
        self.done("stop", self.run_path)
        said = self.lives["controller"][0].said
        self.wait_until(lambda: "to hear of the end" in said(), seconds=120)
        time.sleep(after)
        self.signal("site-3", signal.SIGCONT)
        self.expect_finished()

    def test_who_was_missed_before_the_end_still_hears_of_it(self):
        self.away_at_the_end("50ms", before=3)

    def test_who_was_missed_after_it_was_told_of_the_end_hears_of_it_later(self):
        self.away_at_the_end("1s", after=6)

    def test_who_is_connected_and_does_not_listen_is_given_as_long(self):
        self.away_at_the_end("15s", after=16, silence="60s")


class FullDiskTest(CrashTest):
    """The run directory is on a small disk that fills up, and is freed later."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can mount a small disk")
        self.disk = self.home / "disk"
        self.disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", self.disk],
                                 capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"no small disk can be mounted: {mounted.stderr}")
        # Lazily: cleanups of processes that still have it open come later or earlier.
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)
        self.run_path = self.disk / "run"

    def fill(self):
        with open(self.disk / "filler", "wb", buffering=0) as filler:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while filler.write(bytes(size)) == size:
                        pass
                except OSError:
                    pass

    def test_nothing_is_acknowledged_while_it_is_full_and_it_goes_on_afterwards(self):
        times = 5 if FULL else 2
        self.begin({}, options=("--slowdown", "20"))
        said = self.lives["controller"][0].said
        for _ in range(times):
            self.await_version(self.version() + self.draw.randint(3, 12))
            time.sleep(self.draw.uniform(0, 0.2))
            complaints = said().count("No space left") + said().count("is full")
            self.fill()
            self.wait_until(
                lambda: said().count("No space left") + said().count("is full") > complaints)
            self.wait_until(self.nobody_is_acknowledged)
            (self.disk / "filler").unlink()
            self.await_version(self.version() + 2)
        self.finish()

    def nobody_is_acknowledged(self):
        """All learners are sending, none gets through: acknowledgements that were on their way have come."""
        before = self.acknowledged()
        time.sleep(2)
        return self.acknowledged() == before


if __name__ == "__main__":
    print(f"seed {SEED}{', in full' if FULL else ''}", flush=True)
    unittest.main()
