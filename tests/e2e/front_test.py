"""The front program `metis`, as a user types it.

Usage: front_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import os
import re
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path("build/dev/bin").resolve()


class FrontTest(unittest.TestCase):
    def setUp(self):
        self._directory = tempfile.TemporaryDirectory()
        self.addCleanup(self._directory.cleanup)
        self.home = Path(self._directory.name)

    def metis(self, *arguments, path=None):
        environment = dict(os.environ, PATH=path if path is not None else "/usr/bin:/bin")
        return subprocess.run(
            [str(BIN / "metis"), *arguments],
            cwd=self.home, env=environment, capture_output=True, text=True, timeout=60,
        )

    def write(self, name, text, executable=False):
        file = self.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if executable:
            file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return file

    def test_says_its_version(self):
        run = self.metis("--version")
        self.assertEqual(run.returncode, 0)
        self.assertRegex(run.stdout, r"^metis \d+\.\d+\.\d+\n$")

    def test_every_way_to_ask_for_help_lists_the_commands(self):
        for arguments in (["help"], ["--help"], ["-h"], ["help", "help"], ["help", "--help"]):
            run = self.metis(*arguments)
            self.assertEqual(run.returncode, 0, arguments)
            self.assertRegex(run.stdout, r"(?m)^  init +Write a commented configuration file")
            self.assertRegex(run.stdout, r"(?m)^  check +")

    def test_without_a_command_shows_the_help_as_wrong_usage(self):
        run = self.metis()
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertIn("Usage: metis COMMAND", run.stderr)

    def test_every_command_has_help_with_an_example(self):
        for word in ("init", "check"):
            asked = self.metis("help", word)
            self.assertEqual(asked.returncode, 0)
            self.assertIn(f"Example:\n  metis {word} ", asked.stdout)
            self.assertEqual(asked.stdout, self.metis(word, "--help").stdout)
        self.assertIn("Example:", self.metis("help", "config", "--help").stdout)

    def test_help_config_explains_every_key(self):
        run = self.metis("help", "config")
        self.assertEqual(run.returncode, 0)
        self.assertIn("[federation]", run.stdout)
        self.assertIn("  round_deadline\n", run.stdout)
        self.assertIn("[[group]]", run.stdout)
        page = self.metis("help", "config", "--markdown")
        self.assertTrue(page.stdout.startswith("# Configuration\n"))

    def test_init_writes_a_file_that_check_accepts(self):
        run = self.metis("init")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("metis check federation.toml", run.stdout)
        check = self.metis("check", "federation.toml")
        self.assertEqual((check.returncode, check.stderr), (0, ""))
        self.assertRegex(check.stdout, r"(?m)^policy +async-dvw$")
        self.assertRegex(check.stdout, r"(?m)^ends +after 1h$")
        self.assertRegex(check.stdout, r"(?m)^slow +5 +1s +330ms +10ms +1000$")
        self.assertNotIn("\x1b", check.stdout)

    def test_init_refuses_to_overwrite_unless_forced(self):
        mine = self.write("mine.toml", "[federation]\nlearners = 3\n")
        run = self.metis("init", "mine.toml")
        self.assertEqual(run.returncode, 1)
        self.assertEqual(
            run.stderr,
            "metis: mine.toml exists already: choose another name, or replace it with --force\n")
        self.assertEqual(mine.read_text(), "[federation]\nlearners = 3\n")
        self.assertEqual(self.metis("init", "mine.toml", "--force").returncode, 0)
        self.assertIn("policy", mine.read_text())

    def test_init_says_why_it_cannot_write(self):
        run = self.metis("init", "no/such/directory.toml")
        self.assertEqual(run.returncode, 1)
        self.assertIn("no/such/directory.toml can't be written: No such file", run.stderr)

    def test_check_names_every_mistake_with_its_line(self):
        self.write("bad.toml", "[federation]\npolcy = 3\nlearners = \"ten\"\n[stop]\nrounds = 4\n")
        run = self.metis("check", "bad.toml")
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        lines = run.stderr.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertRegex(lines[0], r'^bad.toml:2: unknown key "polcy".*did you mean "policy"\?')
        self.assertEqual(lines[1], 'bad.toml:3: learners = "ten": expected a whole number, '
                                   'between 1 and 1000000')
        self.assertTrue(lines[2].startswith("bad.toml:5: rounds = 4 "))

    def test_check_shows_the_thresholds_of_an_adaptive_policy(self):
        self.write("a.toml", "[federation]\npolicy = \"async-dvw-adaptive\"\n")
        run = self.metis("check", "a.toml", "--set", "group.slow.vc_loss_pct=2")
        self.assertRegex(run.stdout, r"(?m)^fast .* 0 +4$")
        self.assertRegex(run.stdout, r"(?m)^slow .* 2 +1$")

    def test_check_of_a_missing_file_says_how_to_make_one(self):
        run = self.metis("check", "none.toml")
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stderr,
                         "none.toml: there is no such file; `metis init none.toml` writes one\n")

    def test_check_resolves_to_a_file_that_resolves_to_itself(self):
        self.write("a.toml", "[federation]\nlearners = 7\npolicy = \"fedasync\"\n")
        run = self.metis("check", "a.toml", "--resolved", "--set", "group.slow.latency=90ms",
                         "--set", "stop.requests=40")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("proximal = 0.005\n", run.stdout)
        self.assertIn("latency = \"90ms\"\n", run.stdout)
        self.write("b.toml", run.stdout)
        self.assertEqual(self.metis("check", "b.toml", "--resolved").stdout, run.stdout)

    def test_wrong_usage_has_its_own_exit_code(self):
        self.write("a.toml", "")
        for arguments in (["check"], ["check", "--frob"], ["init", "a", "b"], ["--frob"],
                          ["check", "a.toml", "--set", "nonsense"]):
            run = self.metis(*arguments)
            self.assertEqual((run.returncode, run.stdout), (2, ""), arguments)
            self.assertTrue(run.stderr.startswith("metis: "), run.stderr)
        run = self.metis("check", "a.toml", "--set", "stop.rounds=x")
        self.assertEqual(run.returncode, 1)

    def test_an_unknown_command_names_the_nearest(self):
        run = self.metis("chekc", "federation.toml")
        self.assertEqual(run.returncode, 2)
        self.assertEqual(run.stderr, 'metis: there is no command "chekc": did you mean "check"?\n'
                                     "See `metis help` for all commands.\n")
        for word in ("../metis", "/bin/sh", ""):
            self.assertEqual(self.metis(word).returncode, 2, word)

    def test_runs_a_sibling_on_the_path_with_its_arguments(self):
        self.write("tools/metis-hello", '#!/bin/sh\nfor a in "$@"; do echo "<$a>"; done\nexit 7\n',
                   executable=True)
        path = f"{self.home}/tools:/usr/bin:/bin"
        run = self.metis("hello", "two words", "--version", "", path=path)
        self.assertEqual((run.returncode, run.stdout), (7, "<two words>\n<--version>\n<>\n"))
        self.assertEqual(self.metis("help", "hello", path=path).stdout, "<--help>\n")
        self.assertRegex(self.metis("help", path=path).stdout, r"(?m)^  hello$")
        self.assertIn('did you mean "hello"?', self.metis("hallo", path=path).stderr)

    def test_never_runs_what_lies_in_the_current_directory_unasked(self):
        self.write("metis-hello", "#!/bin/sh\necho ran\n", executable=True)
        for path in (":/usr/bin", "/usr/bin:", "/usr/bin::/bin", ""):
            run = self.metis("hello", path=path)
            self.assertEqual((run.returncode, run.stdout), (2, ""), path)

    def test_a_sibling_beside_the_front_wins_over_the_path(self):
        front = self.home / "installed" / "metis"
        self.write("installed/metis-hello", "#!/bin/sh\necho beside\n", executable=True)
        self.write("tools/metis-hello", "#!/bin/sh\necho path\n", executable=True)
        front.write_bytes((BIN / "metis").read_bytes())
        front.chmod(0o755)
        run = subprocess.run([str(front), "hello"], capture_output=True, text=True, timeout=60,
                             env=dict(os.environ, PATH=f"{self.home}/tools:/usr/bin:/bin"))
        self.assertEqual(run.stdout, "beside\n")

    def test_says_so_when_a_sibling_cannot_be_run(self):
        self.write("tools/metis-broken", "#!/no/such/interpreter\n", executable=True)
        run = self.metis("broken", path=f"{self.home}/tools")
        self.assertEqual(run.returncode, 1)
        self.assertTrue(re.search(r"metis-broken can't be run: No such file", run.stderr), run.stderr)

    def test_a_full_disk_is_a_failure(self):
        with open("/dev/full", "w") as full:
            run = subprocess.run([str(BIN / "metis"), "help", "config"], stdout=full,
                                 stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(run.returncode, 1)
        self.assertIn("standard output could not be written", run.stderr)


if __name__ == "__main__":
    unittest.main()
