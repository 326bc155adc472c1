"""What `metis simulate` does to the directory that it is given: whose it may be, and how it goes on.

Usage: simulate_directory_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import unittest

from learning import LearningTest

# Small enough for a test, uneven enough that learners differ.
SMALL = ["--sizes", "powerlaw", "--classes", "noniid:3", "--set", "builtin.training_examples=2000"]


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


if __name__ == "__main__":
    unittest.main()
