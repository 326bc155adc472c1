#!/usr/bin/env python3
"""Tests of nightly.sh: which stages it runs, and which it remembers. What the stages run is replaced by programs that
say that they were called, in a small repository of its own."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().with_name("nightly.sh")
# Fails where there is a file that is named after the preset, or the directory of its build.
CTEST = """#!/bin/sh
echo "ctest $2" >>"${CALLS}"
test ! -e "${BROKEN}/$(basename "$2")"
"""


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Nightly(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="a night ")
        self.addCleanup(directory.cleanup)
        home = pathlib.Path(directory.name)
        self.root, self.calls, self.broken = home / "tree", home / "calls", home / "broken"
        self.broken.mkdir()
        self.program(home / "bin/cmake", '#!/bin/sh\n')
        self.program(home / "bin/ctest", CTEST)
        self.program(self.root / "scripts/setup.sh", "#!/bin/sh\n")
        self.program(self.root / "build/release/tests/simulation/swarm_test",
                     '#!/bin/sh\necho "swarm $1" >>"${CALLS}"\n')
        shutil.copy(SCRIPT, self.root / "scripts")
        (self.root / ".gitignore").write_text("build/\n")
        (self.root / "code.cc").write_text("int one = 1;\n")
        # Not that of a hook of git's, which names another repository.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self.environment.update(PATH=f"{home / 'bin'}:{os.environ['PATH']}", CALLS=str(self.calls),
                                BROKEN=str(self.broken), GIT_CEILING_DIRECTORIES=str(home))
        self.git("init", "--quiet")
        self.git("add", "--all")

    def program(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def git(self, *arguments):
        subprocess.run(["git", *arguments], cwd=self.root, env=self.environment, check=True)

    def nightly(self, *arguments, code=0):
        """What was called, and what was said."""
        self.calls.write_text("")
        run = subprocess.run(["scripts/nightly.sh", *arguments], cwd=self.root, env=self.environment,
                             capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return self.calls.read_text().split("\n")[:-1], run.stdout + run.stderr

    def test_only_what_has_not_passed_is_run_again(self):
        (self.broken / "tsan").touch()
        calls, said = self.nightly("--only=asan,tsan,clang", code=1)
        self.assertEqual(calls, ["ctest asan", "ctest tsan", "ctest build/clang"])
        self.assertRegex(said, r"asan +ok .*\ntsan +FAILED .*\nclang +ok ")
        (self.broken / "tsan").unlink()
        calls, said = self.nightly("--only=asan,tsan,clang", "--resume")
        self.assertEqual(calls, ["ctest tsan"])
        self.assertRegex(said, r"asan +ok +earlier\ntsan +ok +\d+\.\d\nclang +ok +earlier\n")
        self.assertEqual(self.nightly("--only=asan,tsan,clang", "--resume")[0], [])
        self.assertEqual(self.nightly("--only=asan")[0], ["ctest asan"], "nobody said --resume")

    def test_other_files_have_passed_nothing(self):
        self.nightly("--only=asan")
        for path, text in [("code.cc", "int one = 2;\n"), ("new.cc", "int two = 2;\n"), ("code.cc", None)]:
            if text is None:
                (self.root / path).unlink()
            else:
                (self.root / path).write_text(text)
            self.assertEqual(self.nightly("--only=asan", "--resume")[0], ["ctest asan"], (path, text))
            self.assertEqual(self.nightly("--only=asan", "--resume")[0], [], (path, text))
        (self.root / "code.cc").write_text("int one = 1;\n")
        (self.root / "new.cc").unlink()
        self.assertEqual(self.nightly("--only=asan", "--resume")[0], [], "as it was at first")

    def test_files_that_were_edited_meanwhile_have_not_passed(self):
        self.program(self.root.parent / "bin/cmake", f"#!/bin/sh\necho >>'{self.root / 'code.cc'}'\n")
        self.nightly("--only=asan")
        self.program(self.root.parent / "bin/cmake", "#!/bin/sh\n")
        self.assertEqual(self.nightly("--only=asan", "--resume")[0], ["ctest asan"])

    def test_fewer_seeds_are_not_all_of_them(self):
        self.assertEqual(self.nightly("--only=swarm", "--seeds=3")[0], ["swarm --seeds=3"])
        self.assertEqual(self.nightly("--only=swarm", "--resume")[0], ["swarm --seeds=5000"])
        self.assertEqual(self.nightly("--only=swarm", "--resume", "--first-seed=1")[0], [])

    def test_a_stage_builds_what_it_runs(self):
        self.program(self.root.parent / "bin/cmake", '#!/bin/sh\necho "cmake $*" >>"${CALLS}"\n')
        self.assertEqual(self.nightly("--only=swarm")[0],
                         ["cmake --preset release", "cmake --build --preset release --target swarm_test",
                          "swarm --seeds=5000"])

    def test_without_git_nothing_is_remembered(self):
        shutil.rmtree(self.root / ".git")
        self.assertEqual(self.nightly("--only=asan")[0], ["ctest asan"])
        calls, said = self.nightly("--only=asan", "--resume", code=2)
        self.assertEqual(calls, [])
        self.assertIn("--resume needs a git checkout", said)

    def test_what_is_no_stage_runs_nothing(self):
        for wrong in ["--only=asan,tasn", "--only=", "--seeds=0", "--seeds=-1", "--first-seed=x", "--retry"]:
            calls, said = self.nightly(wrong, code=2)
            self.assertEqual(calls, [])
            self.assertIn("see scripts/nightly.sh --help", said)
        self.assertIn("--only= names no stage", self.nightly("--only=", code=2)[1])


if __name__ == "__main__":
    unittest.main()
