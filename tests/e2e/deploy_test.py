"""What `cmake --install` puts beside the programs: units that systemd accepts and that name options that exist. And what a
machine needs beside them: the packages that docs/deploy.md names.

Usage: deploy_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path("build/dev/bin").resolve()
UNITS = ["metis-controller.service", "metis-learner@.service", "metis-observer@.service"]
MOST_EXPOSED = 20  # tenths, of systemd's scale from 0 (locked in) to 10
PAGE = Path(__file__).resolve().parents[2] / "docs/deploy.md"
EVERYWHERE = {"libc6", "libgcc-s1", "libstdc++6"}  # what every C++ program needs


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600)


class DeployTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.prefix = Path(directory.name) / "usr"
        installed = run("cmake", "--install", BIN.parent, "--component", "deploy", "--prefix", cls.prefix)
        assert installed.returncode == 0, installed.stderr
        (cls.prefix / "bin").symlink_to(BIN)

    def unit(self, name):
        return self.prefix / "lib/systemd/system" / name

    def settings(self, name):
        """The unit's lines as (key, value)."""
        lines = self.unit(name).read_text().splitlines()
        return [tuple(line.split("=", 1)) for line in lines if "=" in line and not line.startswith("#")]

    def value(self, name, key):
        (value,) = [v for k, v in self.settings(name) if k == key]
        return value

    def help(self, program):
        return run(BIN / program, "--help").stdout

    def needs_systemd(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")

    def test_units_name_the_programs_of_the_prefix_and_options_that_they_have(self):
        for unit in UNITS:
            program, *words = self.value(unit, "ExecStart").split()
            self.assertEqual(program, str(self.prefix / "bin" / re.split(r"[@.]", unit)[0]))
            self.assertTrue(Path(program).exists(), program)
            for option in [word for word in words if word.startswith("--")]:
                self.assertIn(option, self.help(Path(program).name), unit)

    def test_examples_name_options_that_the_programs_have(self):
        for role in ["controller", "learner", "observer"]:
            text = (self.prefix / f"share/doc/metis/examples/{role}.conf.example").read_text()
            (line,) = [line for line in text.splitlines() if line.startswith("METIS_OPTIONS=")]
            options = [word for word in shlex.split(line.split("=", 1)[1]) if word.startswith("--")]
            self.assertTrue(options)
            for option in options:
                self.assertIn(option, self.help(f"metis-{role}"), role)
            unit = f"metis-{role}.service" if role == "controller" else f"metis-{role}@.service"
            place = self.value(unit, "EnvironmentFile")
            self.assertIn(place.replace("%i", "NAME"), text, "the example says where it belongs")

    def test_what_a_supervisor_must_know(self):
        for unit in UNITS:
            self.assertEqual(self.value(unit, "Restart"), "on-failure")
            self.assertEqual(self.value(unit, "RestartPreventExitStatus"), "2")
            self.assertEqual(self.value(unit, "UMask"), "0077")
            self.assertEqual(self.value(unit, "StateDirectoryMode"), "0700")
        self.assertEqual(self.value(UNITS[0], "RestartForceExitStatus"), "75")
        self.assertGreaterEqual(int(self.value(UNITS[0], "LimitNOFILE")), 2000 + 96)
        self.assertIn("75", self.help("metis-controller"))

    def test_systemd_accepts_the_units(self):
        self.needs_systemd()
        for unit in UNITS:
            instance = self.unit(unit.replace("@", "@site-1"))
            if instance.name != unit:
                instance.symlink_to(unit)
            verified = run("systemd-analyze", "verify", "--man=no", instance)
            if "Failed to" in verified.stderr and "bus" in verified.stderr:
                self.skipTest(f"systemd-analyze can't work here: {verified.stderr}")
            self.assertEqual((verified.returncode, verified.stderr), (0, ""), unit)

    def test_units_are_locked_in(self):
        self.needs_systemd()
        for unit in UNITS:
            judged = run("systemd-analyze", "security", "--offline=yes", "--no-pager",
                         f"--threshold={MOST_EXPOSED}", self.unit(unit))
            self.assertEqual(judged.returncode, 0, judged.stdout + judged.stderr)

    def test_the_user_of_the_units_is_made(self):
        made = (self.prefix / "lib/sysusers.d/metis.conf").read_text()
        self.assertRegex(made, r"(?m)^u metis - ")
        for unit in UNITS:
            self.assertEqual(self.value(unit, "User"), "metis")
        if not shutil.which("systemd-sysusers"):
            self.skipTest("systemd-sysusers is not installed")
        with tempfile.TemporaryDirectory() as root:
            (Path(root) / "etc").mkdir()
            made = run("systemd-sysusers", f"--root={root}", self.prefix / "lib/sysusers.d/metis.conf")
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertIn("metis:", (Path(root) / "etc/passwd").read_text())

    def test_the_handbook_comes_along(self):
        for page in ["deploy.md", "security.md", "operations.md", "network.md"]:
            self.assertTrue((self.prefix / "share/doc/metis" / page).exists(), page)
        for unit in UNITS:
            page = self.value(unit, "Documentation").removeprefix("file:")
            self.assertTrue(Path(page).exists(), page)

    def test_the_observer_of_the_example_tests_on_all_of_its_file_as_on_the_page(self):
        self.assertRegex(PAGE.read_text(), r"(?m)^metis observer .*--data test.npz --whole$")
        example = (self.prefix / "share/doc/metis/examples/observer.conf.example").read_text()
        self.assertRegex(example, r"(?m)^METIS_OPTIONS=.*/test.npz --whole$")


class PackagesTest(unittest.TestCase):
    """A machine that is only a controller: programs are copied to it, and packages installed."""

    def libraries(self, program):
        linked = run("ldd", BIN / program)
        self.assertEqual(linked.returncode, 0, linked.stderr)
        self.assertNotIn("not found", linked.stdout, program)
        paths = re.findall(r"=> (/\S+) ", linked.stdout)
        self.assertTrue(paths, linked.stdout)
        return {path for path in paths if not re.search(r"/lib[a-z]+san\.so", path)}  # a sanitizer's own

    def owners(self, libraries):
        """The packages of all of them, asked for at once: every question reads the lists of all packages."""
        # Where /lib is /usr/lib, a package may have a file under either name.
        real = {os.path.realpath(library) for library in libraries}
        told = run("dpkg", "-S", *sorted(real | {path.removeprefix("/usr") for path in real})).stdout
        owners = {}
        for package, path in re.findall(r"(?m)^([^:,\s]+).*: (/\S+)$", told):
            owners[os.path.realpath(path)] = package
        self.assertEqual(real - owners.keys(), set(), "of no package")
        return set(owners.values())

    def with_dependencies(self, packages):
        known, new = set(), set(packages)
        while new:
            known |= new
            told = run("dpkg-query", "-W", "-f", "${Pre-Depends}, ${Depends}\n", *sorted(new)).stdout
            new = set(re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]+)", told, re.MULTILINE)) - known
        return known

    def test_the_page_names_the_packages_of_the_programs_that_it_says_to_copy(self):
        if not all(map(shutil.which, ["ldd", "dpkg", "dpkg-query"])):
            self.skipTest("this is no Debian system")
        paragraph = re.search(r"(?ms)^A machine that is only a controller.*?\n\n", PAGE.read_text())[0]
        quoted = re.findall(r"`([^`]+)`", paragraph)
        programs = [words for words in quoted if words.startswith("metis")]
        self.assertIn("metis-controller", programs)
        (packages,) = [words.split() for words in quoted if words.startswith("lib")]
        self.assertEqual(packages, sorted(packages))
        needed = self.owners(set.union(*map(self.libraries, programs)))
        self.assertEqual(needed - self.with_dependencies(packages) - EVERYWHERE, set(), "not on the page")


if __name__ == "__main__":
    unittest.main()
