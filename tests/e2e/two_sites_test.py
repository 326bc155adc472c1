"""docs/deploy.md, followed command by command: a controller on one machine, sites on another.

The machines are network namespaces with a cable between them; making them needs root, and the test is skipped
without. The commands and the configuration are read out of the page: a command that is changed there is run here.

Usage: two_sites_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import unittest
from pathlib import Path

from learning import BIN, LearningTest, write_images

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/deploy.md"
CONTROLLER, SITE = "10.77.0.1", "10.77.0.2"  # the first one is the page's
PORT = 7740
# Unequal sites, all ten classes at each.
SITES = {"site-1": (24, 12, 18, 9, 14, 20, 8, 16, 11, 10), "site-2": (9, 16, 7, 12, 10, 8, 13, 6, 15, 8)}
TEST_COUNTS = (5, 6, 4, 5, 7, 5, 4, 6, 5, 5)
LISTENS = "0A"  # a state in /proc/net/tcp

# Writes what passes at this end of the cable, until it is ended.
SNIFFER = """
import signal, socket, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
cable = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
cable.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
with open(sys.argv[1], "wb", buffering=0) as out:
    while True:
        frame, where = cable.recvfrom(1 << 17)
        if where[0] != "lo":
            out.write(frame)
"""


def blocks(page):
    """The code blocks of the page that have a name, as lists of lines."""
    found = {}
    for name, body in re.findall(r"^```\w+ ([\w.-]+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        found[name] = body
    return found


class Machine:
    """A network namespace with a home of its own."""

    def __init__(self, test, name):
        self.test = test
        self.namespace = f"metis-{os.getpid()}-{name}"
        self.home = test.home / name
        self.home.mkdir()
        made = subprocess.run(["ip", "netns", "add", self.namespace], capture_output=True, text=True)
        if made.returncode != 0:
            test.skipTest(f"no network namespace can be made here: {made.stderr.strip()}")
        test.addCleanup(subprocess.run, ["ip", "netns", "delete", self.namespace])
        self.ip("link", "set", "lo", "up")

    def ip(self, *arguments):
        subprocess.run(["ip", "-n", self.namespace, *arguments], check=True)

    def words(self, *command):
        return ["ip", "netns", "exec", self.namespace, *map(str, command)]

    def environment(self, home):
        return dict(os.environ, HOME=str(home), PATH=f"{BIN}:{os.environ['PATH']}")

    def run(self, line, code=0, home=None):
        """A line as it is typed; what it prints."""
        home = home or self.home
        done = subprocess.run(self.words("sh", "-c", line), cwd=home, env=self.environment(home),
                              capture_output=True, text=True, timeout=600)
        self.test.assertEqual(done.returncode, code, f"{line}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def start(self, line, name, home=None):
        """A line that goes on; ended with the test."""
        home = home or self.home
        log = home / f"{name}.log"
        with open(log, "w") as out:
            process = subprocess.Popen(self.words("sh", "-c", f"exec {line}"), cwd=home,
                                       env=self.environment(home), stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=out)
        self.test.addCleanup(process.wait)
        self.test.addCleanup(process.kill)
        return Running(self.test, process, log)

    def sockets(self):
        """(local, remote, state) of all TCP sockets of this machine."""
        text = subprocess.run(self.words("cat", "/proc/net/tcp", "/proc/net/tcp6"), check=True,
                              capture_output=True, text=True).stdout
        lines = [line.split() for line in text.splitlines() if ":" in line.split()[0]]
        return [(line[1], line[2], line[3]) for line in lines]


class Running:
    def __init__(self, test, process, log):
        self.test, self.process, self.log = test, process, log

    def said(self):
        return self.log.read_text()

    def end(self):
        try:
            self.process.wait(300)
        except subprocess.TimeoutExpired:
            self.test.fail(f"{self.log} does not end:\n{self.said()}")
        self.test.assertEqual(self.process.returncode, 0, f"{self.log}\n{self.said()}")


def proc_address(address, port):
    """As /proc/net/tcp writes it."""
    return "".join(f"{int(part):02X}" for part in reversed(address.split("."))) + f":{port:04X}"


class TwoSitesTest(LearningTest):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or not shutil.which("ip"):
            self.skipTest("network namespaces need root and the program ip")
        self.page = blocks(PAGE.read_text())
        self.controller, self.site = Machine(self, "controller"), Machine(self, "site")
        self.connect()

    def connect(self):
        cable = f"m{os.getpid() % 100000}"
        subprocess.run(["ip", "link", "add", f"{cable}c", "netns", self.controller.namespace, "type", "veth",
                        "peer", "name", f"{cable}s", "netns", self.site.namespace], check=True)
        for machine, end, address in [(self.controller, "c", CONTROLLER), (self.site, "s", SITE)]:
            machine.ip("address", "add", f"{address}/24", "dev", cable + end)
            machine.ip("link", "set", cable + end, "up")

    def lines(self, name):
        return self.page[name].splitlines()

    def sniff(self):
        path = self.home / "cable"
        process = subprocess.Popen(self.controller.words(sys.executable, "-c", SNIFFER, path))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait_until(path.exists)
        return process, path

    # --- The page, section by section

    def prepare(self):
        (self.controller.home / "federation.toml").write_text(self.page["federation.toml"])
        for line in self.lines("prepare"):
            self.controller.run(line)

    def start_controller(self):
        init, invite, start = self.lines("controller")
        self.controller.run(init)
        token = self.token(self.controller.run(invite), "learner")
        running = self.controller.start(start, "controller")
        address = self.controller.home / "runs/first/address"
        self.wait_until(lambda: address.exists() or running.process.poll() is not None)
        self.assertIsNone(running.process.poll(), running.said())
        return running, token

    def token(self, printed, role):
        """The word of an invitation, and that the site's command is the page's."""
        token = printed.splitlines()[0]
        self.assertRegex(token, r"^[\w-]{40,}$")
        commands = {"learner": self.lines("site")[-1], "observer": self.lines("observer")[0]}
        printed_command = [line.strip() for line in printed.splitlines() if "--enrol" in line][0]
        self.assertTrue(commands[role].replace("TOKEN", token).startswith(printed_command.removesuffix("FILE")),
                        printed)
        return token

    def join(self, name, token):
        home = self.site.home / name
        home.mkdir()
        write_images(home / "scans.npz", seed=len(name) + ord(name[-1]), counts=SITES[name], side=28)
        doctor, privacy, learn = self.lines("site")
        said = self.site.run(doctor, home=home)
        self.assertIn(f"{CONTROLLER}:{PORT} answers", said)
        self.assertIn(f"scans.npz: {sum(SITES[name])} examples of 1x28x28, 10 classes", said)
        self.assertIn("What never leaves it", self.site.run(privacy, home=home))
        return self.site.start(learn.replace("TOKEN", token), "learner", home=home)

    def observe(self, token):
        home = self.site.home / "watcher"
        home.mkdir()
        write_images(home / "test.npz", seed=77, counts=TEST_COUNTS, side=28)
        (line,) = self.lines("observer")
        return self.site.start(line.replace("TOKEN", token), "observer", home=home)

    def look(self, line):
        """The operator's line, until it shows who is there: what it shows is a moment old."""
        members = ["site-1", "watcher"]
        self.wait_until(lambda: all(name in self.controller.run(line) for name in members))

    # --- What must hold

    def state(self, name):
        (state,) = (self.site.home / name / ".local/state/metis").iterdir()
        return state

    def audit(self):
        path = self.controller.home / "runs/first/audit.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def findings(self, *options):
        line = " ".join(["metis doctor --json --join", f"{CONTROLLER}:{PORT}", *map(str, options)])
        done = subprocess.run(self.site.words("sh", "-c", line), env=self.site.environment(self.site.home),
                              capture_output=True, text=True, timeout=600)
        return {each["id"] for each in json.loads(done.stdout)["findings"]}

    def expect_enrolled(self):
        enrolled = [line for line in self.audit() if line["reason"] == "enrolled"]
        self.assertEqual({line["name"] for line in enrolled}, {*SITES, "watcher"})
        for line in enrolled:
            self.assertIn(SITE, line["peer"])
        for name in [*SITES, "watcher"]:
            mode = stat.S_IMODE((self.state(name) / "key.pem").stat().st_mode)
            self.assertEqual(mode, 0o600, name)
        authority = self.controller.home / "authority"
        for key in ["ca.key", "controller.key"]:
            self.assertEqual(stat.S_IMODE((authority / key).stat().st_mode), 0o600, key)
        ca = (authority / "ca.pem").read_text()
        self.assertEqual((self.state("site-1") / "ca.pem").read_text(), ca)

    def expect_mutual_tls(self):
        found = self.findings("--state", self.state("site-1"))
        self.assertLessEqual({"certificate.good", "tls.good", "tls.welcome", "clock.good"}, found)
        # One that another authority vouches for is not let in.
        strangers = self.home / "strangers"
        subprocess.run([ROOT / "scripts/make_certificates.sh", strangers, "site-1"], check=True)
        both = strangers / "both.pem"
        both.write_text((strangers / "ca.pem").read_text() + (self.state("site-1") / "ca.pem").read_text())
        found = self.findings("--ca", both, "--certificate", strangers / "site-1.pem", "--key",
                              strangers / "site-1.key")
        self.assertIn("tls.unwelcome", found)
        self.wait_until(lambda: "tls" in {line["reason"] for line in self.audit()})

    def expect_only_outgoing(self):
        """The site listens nowhere, and all that it talks to is the controller's port."""
        sockets = self.site.sockets()
        self.assertTrue(sockets)
        self.assertNotIn(LISTENS, [state for _, _, state in sockets])
        remotes = {remote[-13:] for _, remote, _ in sockets}
        self.assertEqual(remotes, {proc_address(CONTROLLER, PORT)})

    def expect_encrypted(self, cable):
        passed = cable.read_bytes()
        model = (self.controller.home / "initial.metis").stat().st_size
        self.assertGreater(len(passed), 20 * model)
        for word in [b"site-1", b"site-2", b"watcher", b"async-dvw", b"metis", b"HTTP/2"]:
            self.assertNotIn(word, passed)

    def expect_federated(self):
        summary = json.loads((self.controller.home / "runs/first/summary.json").read_text())
        self.assertTrue(summary["complete"])
        self.assertEqual(summary["policy"], "async-dvw")
        held = {each["name"]: each for each in summary["learners"]}
        self.assertEqual(set(held), set(SITES))
        for name, counts in SITES.items():
            self.assertGreater(held[name]["updates"], 0, name)
            examples = held[name]["training_examples"] + held[name]["validation_examples"]
            self.assertEqual(examples, sum(counts))
        self.assertGreater(summary["accuracy"]["best"], summary["tests"][0]["accuracy"])

    def test_the_page_leads_to_a_running_federation(self):
        self.assertEqual([len(self.lines(name)) for name in ["controller", "site"]], [3, 3])
        self.prepare()
        sniffer, cable = self.sniff()
        controller, first = self.start_controller()
        second, watcher = [self.controller.run(line) for line in self.lines("more")]
        members = [self.observe(self.token(watcher, "observer")), self.join("site-1", first)]
        self.wait_until(lambda: "accepted" in members[0].said() and "accepted" in members[1].said())
        self.expect_mutual_tls()
        self.expect_only_outgoing()
        for line in self.lines("look"):
            self.look(line)
        members.append(self.join("site-2", self.token(second, "learner")))  # now it begins
        for member in [controller, *members]:
            member.end()
        sniffer.send_signal(signal.SIGTERM)
        sniffer.wait(60)
        self.expect_enrolled()
        self.expect_encrypted(cable)
        self.expect_federated()


if __name__ == "__main__":
    unittest.main()
