"""A controller that is started again on a run directory with which it must not go on: it names the file and the way
out, and leaves everything as it found it.

Usage: storage_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import os
import re
import shutil
import signal
import sqlite3
import tempfile
import unittest
from contextlib import closing
from pathlib import Path

from learning import LearningTest
from network_test import ENDLESS, Member

SETTINGS = {**ENDLESS, "federation.learners": 2, "federation.policy": "async-fedavg",
            "membership.silence": "9min"}  # nothing happens by itself beside a test
LOCKS = {"lock", "state.db.lock", "blobs/lock"}  # who holds them is written into them
DIGITS = 64  # of a model's name


def lead(test, name, *options, address="127.0.0.1:0"):
    """A controller on the run directory, new or not."""
    return Member(test, name, ["controller", "--run", "run", "--listen", address, "--insecure",
                               "--dashboard", "off", *options])


def await_listening(test, controller):
    """Its address, the last thing that it writes before anybody joins."""
    path = test.home / "run/address"
    test.wait_until(lambda: controller.process.poll() is not None
                    or (path.exists() and f"on {path.read_text().strip()}," in controller.said()))
    test.assertIsNone(controller.process.poll(), controller.said())
    return path.read_text().strip()


def leave_a_run(test):
    """Of a controller that was killed: one snapshot, and updates after it that are still in the journal."""
    sets = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
    controller = lead(test, "first", "--record", "replayable", *sets)
    address = await_listening(test, controller)
    for k in range(2):
        Member(test, f"site-{k}", ["learner", "--join", address, "--data", "builtin", "--share", f"{k}/2",
                                   "--insecure", "--name", f"site-{k}", "--slowdown", "20"])
    test.wait_until(lambda: test.requests() >= 20)
    controller.process.send_signal(signal.SIGTERM)
    controller.end()
    seen = test.requests()
    controller = lead(test, "second", "--set", "storage.snapshot_every=1000000", address=address)
    await_listening(test, controller)
    test.wait_until(lambda: test.requests() >= seen + 20)
    controller.process.kill()
    controller.process.wait()


def setUpModule():
    """One such run serves all tests."""
    federation = LearningTest()
    federation.setUp()
    unittest.addModuleCleanup(federation.doCleanups)
    leave_a_run(federation)
    directory = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(directory.cleanup)
    StorageTest.left = Path(directory.name) / "run"
    shutil.copytree(federation.home / "run", StorageTest.left, ignore=shutil.ignore_patterns("*.sock", "*.new"))
    federation.doCleanups()  # its learners would dial for ever


class StorageTest(LearningTest):
    def setUp(self):
        super().setUp()
        self.run_path = self.home / "run"
        self.state = self.run_path / "state.db"
        shutil.copytree(self.left, self.run_path)

    def files(self):
        """What is in the run directory, byte by byte."""
        found = {path.relative_to(self.run_path).as_posix(): path for path in self.run_path.rglob("*")}
        return {name: path.read_bytes() for name, path in found.items()
                if path.is_file() and name not in LOCKS and not (name == "state.db-wal" and self.size(path) == 0)}

    def refused(self, *words, options=()):
        """Started again it ends by itself, says these words, and has changed nothing."""
        before = self.files()
        again = lead(self, "again", *options)
        self.wait_until(lambda: "listening on" in again.said() or again.process.poll() is not None)
        self.assertEqual(again.process.poll(), 1, again.said())
        said = again.said()
        self.assertTrue(said.startswith("metis: "), said)
        for word in words:
            self.assertIn(word, said)
        after = self.files()
        self.assertEqual(sorted(name for name in before.keys() | after.keys()
                                if before.get(name) != after.get(name)), [], f"was changed by what says {said}")

    def goes_on(self, *options):
        """Whether it does once its run is whole."""
        again = lead(self, "whole", *options)
        await_listening(self, again)
        self.assertRegex(again.said(), r"going on at version \d+ after \d+ commits")
        again.process.send_signal(signal.SIGTERM)
        again.end()

    def fold(self):
        """Into the database what a killed controller has left in the journal, as one that ended has it."""
        with closing(sqlite3.connect(self.state)) as database:
            database.execute("SELECT count(*) FROM events").fetchone()
        self.assertFalse(self.state.with_name("state.db-wal").exists())

    def asked(self, query):
        """The answer of a copy: nothing is folded here."""
        copy = self.home / "copy"
        shutil.copytree(self.run_path, copy)
        with closing(sqlite3.connect(copy / "state.db")) as database:
            rows = database.execute(query).fetchall()
        shutil.rmtree(copy)
        return rows

    def overwrite(self, path, at, length=16):
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(bytes(0xff ^ byte for byte in path.read_bytes()[at:at + length]))


class WholeTest(StorageTest):
    def test_what_was_left_goes_on(self):
        self.goes_on()  # else the other tests would show nothing


class DamagedStateTest(StorageTest):
    RESTORE = "restore it from a copy together with its models, or begin anew in another directory"

    def test_a_page_in_the_middle(self):
        self.fold()
        [(page,)] = self.asked("SELECT rootpage FROM sqlite_master WHERE name = 'events'")
        [(size,)] = self.asked("PRAGMA page_size")
        self.overwrite(self.state, (page - 1) * size, size)
        self.refused("run/state.db is damaged", self.RESTORE)

    def test_a_few_bytes_of_the_snapshot(self):
        self.fold()
        [(snapshot,)] = self.asked("SELECT bytes FROM snapshots")
        places = re.finditer(re.escape(snapshot[:64]), self.state.read_bytes())
        for place in places:  # also where an earlier one was
            self.overwrite(self.state, place.start())
        self.refused("run/state.db is damaged: the snapshot after event", self.RESTORE)

    def test_a_few_bytes_of_an_event_after_it(self):
        self.fold()
        whole = self.state.read_bytes()  # in which pages that are free now may hold what has moved
        number, event = next((number, event) for number, event in
                             self.asked("SELECT number, bytes FROM events WHERE blobs != ''")
                             if whole.count(event) == 1)
        self.overwrite(self.state, whole.index(event))
        self.refused(f"run/state.db is damaged: event {number} does not match its checksum", self.RESTORE)

    def test_the_header_is_overwritten(self):
        self.fold()
        self.overwrite(self.state, 0, 100)
        self.refused("run/state.db is damaged, or no state of a federation", self.RESTORE)

    def test_a_file_that_ends_within_its_header(self):
        self.fold()
        os.truncate(self.state, 50)
        self.refused("run/state.db is damaged, or no state of a federation", self.RESTORE)

    def test_a_file_that_ends_in_the_middle(self):
        self.fold()
        os.truncate(self.state, self.state.stat().st_size // 2)
        self.refused("run/state.db is damaged", self.RESTORE)

    def test_an_empty_file(self):
        os.truncate(self.state, 0)
        self.refused("run/state.db", self.RESTORE)

    def test_a_file_that_is_missing(self):
        self.fold()
        self.state.unlink()
        self.refused("run/state.db", self.RESTORE)

    LOST = ("run/state.db ends with event", "state.db-wal", "Restore the whole run directory", "--accept-loss")

    def test_a_journal_that_is_missing(self):
        self.state.with_name("state.db-wal").unlink()
        self.refused(*self.LOST)
        self.goes_on("--accept-loss")

    def test_a_journal_with_all_there_was(self):
        with closing(sqlite3.connect(self.state)) as database:
            for [table] in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                database.execute(f"DROP TABLE {table}")
            database.commit()
        self.refused("run/state.db is damaged: there is nothing in it", self.RESTORE)

    def test_a_journal_whose_end_is_damaged(self):
        journal = self.state.with_name("state.db-wal")
        self.overwrite(journal, journal.stat().st_size // 2)
        self.refused(*self.LOST)


class NewerFormatTest(StorageTest):
    def test_is_left_to_its_program(self):
        with closing(sqlite3.connect(self.state)) as database:
            database.execute("UPDATE meta SET format = format + 1")
            database.commit()
        self.refused("run/state.db was written by a newer metis (format 2, this program knows 1)",
                     "use that program")


class DamagedModelTest(StorageTest):
    def model_of(self, query):
        """The file of the first model that the rows name."""
        return self.run_path / "blobs" / self.asked(query)[0][0][:DIGITS]

    def of_the_snapshot(self):
        return self.model_of("SELECT blobs FROM snapshots")

    def of_an_event(self):
        # The last one: everything before it could be read.
        return self.model_of("SELECT blobs FROM events WHERE blobs != '' ORDER BY number DESC")

    def expect_refused(self, model, *words):
        whole = (self.left / model.relative_to(self.run_path)).read_bytes()
        self.refused(f"run/blobs/{model.name}", "restore it from a copy", *words)
        model.write_bytes(whole)  # the way out
        self.goes_on()

    def test_one_has_other_values(self):
        model = self.of_the_snapshot()
        self.overwrite(model, 40)
        self.expect_refused(model, "do not have the SHA-256 of the file's name")

    def test_one_of_the_snapshot_is_missing(self):
        model = self.of_the_snapshot()
        model.unlink()
        self.expect_refused(model, "run/state.db: the snapshot after event")

    def test_one_of_an_event_is_missing(self):
        model = self.of_an_event()
        model.unlink()
        self.expect_refused(model, "run/state.db: event ")

    def test_one_is_cut_off(self):
        model = self.of_an_event()
        os.truncate(model, 12)
        self.expect_refused(model, "has 12 bytes")


class HeldTest(StorageTest):
    def expect_held(self, phase, *options):
        holder = lead(self, "holder", *options)
        await_listening(self, holder)
        self.refused("run", f"is in use by process {holder.process.pid}", "stop that one first", options=options)
        self.assertIsNone(holder.process.poll())
        self.assertEqual(self.told("status", "run")["phase"], phase)

    def test_by_a_controller_that_went_on(self):
        self.expect_held("running")

    def test_by_a_controller_that_waits_for_learners(self):
        shutil.rmtree(self.run_path)
        self.expect_held("waiting")

    def test_by_one_that_keeps_nothing_and_waits_for_learners(self):
        shutil.rmtree(self.run_path)
        self.expect_held("waiting", "--set", "storage.durability=none")


class SetupTest(StorageTest):
    def test_the_initial_model_is_missing(self):
        initial = self.run_path / "initial.metis"
        initial.rename(self.home / "kept.metis")
        self.refused("run/initial.metis", "restore it from a copy of the run", "--model FILE")
        self.goes_on("--model", "kept.metis")

    def test_the_federations_name_is_missing(self):
        (self.run_path / "federation").unlink()
        self.refused("run/federation", "restore it from a copy of the run", "another --run")


class UnbegunTest(StorageTest):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.run_path)
        self.run_path.mkdir()
        for name in ("config.toml", "schema.json", "events.jsonl", "models.f32", "initial.metis.4711.new"):
            (self.run_path / name).touch()

    def test_where_the_disk_was_full_before_anything_happened_it_begins(self):
        await_listening(self, lead(self, "again"))
        self.assertEqual(len((self.run_path / "federation").read_text().splitlines()), 2)

    def test_where_others_have_begun_something_it_does_not(self):
        (self.run_path / "partition.json").touch()
        self.refused("run already holds a run: choose another --run\n")

    def test_where_something_has_happened_it_does_not(self):
        (self.run_path / "events.jsonl").write_text("{}\n")
        self.refused("run already holds a run: choose another --run\n")


if __name__ == "__main__":
    unittest.main()
