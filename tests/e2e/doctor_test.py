"""`metis doctor` as it is typed: what it finds at a controller and at a site, and with which code it ends.

Every message is provoked in metis/doctor; here it is the program that speaks. Usage: doctor_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import json
import os
import resource
import socket
import ssl
import subprocess
import threading
import unittest

from learning import BIN
from network_test import BUILTIN, NetworkTest


class DoctorTest(NetworkTest):
    def ids(self, *options, code=0, **more):
        """What it finds."""
        run = subprocess.run([BIN / "metis", "doctor", "--json", *map(str, options)], cwd=self.home,
                             env=dict(os.environ, HOME=str(self.home)), capture_output=True, text=True,
                             timeout=600, **more)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        document = json.loads(run.stdout)
        verdicts = [each["verdict"] for each in document["findings"]]
        self.assertEqual(document["failures"], verdicts.count("failure"))
        self.assertEqual(document["warnings"], verdicts.count("warning"))
        return {each["id"] for each in document["findings"]}

    def authority(self):
        self.done("ca", "init", "authority", "--host", "127.0.0.1")
        return ["--authority", "authority"]

    def test_before_a_controller_is_started(self):
        found = self.ids("--run", "run", "--listen", "0.0.0.0:0", *self.authority())
        self.assertLessEqual({"config.good", "run.new", "files.good", "disk.good", "memory.good",
                              "listen.free", "authority.good", "certificate.good"}, found)
        self.assertFalse((self.home / "run").exists())

    def test_beside_a_controller_and_after_it(self):
        controller = self.controller(BUILTIN, "--insecure")
        address = self.address(controller)
        found = self.ids("--run", "run", "--listen", address)
        self.assertLessEqual({"run.in-use", "listen.ours"}, found)
        found = self.ids("--join", address, "--insecure")
        self.assertLessEqual({"join.reached", "join.insecure", "clock.good"}, found)
        self.assertIn("join.plain", self.ids("--join", address, code=1))
        controller.process.terminate()
        controller.end()
        self.assertIn("run.goes-on", self.ids("--run", "run"))
        self.assertIn("join.refused", self.ids("--join", address, "--insecure", code=1))
        again = self.controller({}, "--insecure")
        self.address(again)  # the doctor has left it as it was

    def test_what_keeps_a_controller_from_starting(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            taken = "127.0.0.1:%d" % other.getsockname()[1]
            found = self.ids("--listen", taken, "--set", "storage.durability=none", code=1)
            self.assertLessEqual({"listen.taken", "config.unkept"}, found)
        self.assertIn("config.bad", self.ids("--set", "federation.learners=none", code=1))
        (self.home / "papers").mkdir()
        (self.home / "papers/letter.txt").write_text("dear colleague")
        self.assertIn("run.foreign", self.ids("--run", "papers", code=1))
        self.assertIn("certificate.none", self.ids("--listen", "0.0.0.0:0", code=1))
        self.assertIn("authority.none", self.ids("--authority", "papers", code=1))
        few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (500, 500))
        self.assertIn("files.few", self.ids("--listen", "127.0.0.1:0", preexec_fn=few))

    def test_another_configuration_than_the_runs(self):
        controller = self.controller(BUILTIN, "--insecure")
        self.address(controller)
        controller.process.terminate()
        controller.end()
        (self.home / "other.toml").write_text("[federation]\nlearners = 7\n")
        self.assertIn("run.other-federation", self.ids("other.toml", "--run", "run", code=1))

    def test_a_key_that_others_can_read(self):
        options = self.authority()
        os.chmod(self.home / "authority/ca.key", 0o644)
        os.chmod(self.home / "authority/controller.key", 0o640)
        found = self.ids(*options, "--listen", "0.0.0.0:0", code=1)
        self.assertLessEqual({"authority.key-open", "certificate.key-open"}, found)

    def test_a_revoked_site_is_told_so(self):
        controller = self.controller(BUILTIN, *self.authority())
        address = self.address(controller)
        token = self.done("ca", "invite", "site-7", "--dir", "authority", "--join", address,
                          "--quiet").strip()
        self.assertIn("state.empty", self.ids("--join", address, "--state", "fresh"))
        self.done("ca", "enrol", token)
        enrolled = {"certificate.good", "tls.good", "tls.welcome", "clock.good"}
        self.assertLessEqual(enrolled, self.ids("--join", address))  # finds what it enrolled as
        self.done("ca", "revoke", "site-7", "--dir", "authority")
        self.assertIn("tls.turned-away", self.ids("--join", address, code=1))
        audit = [json.loads(line) for line in (self.home / "run/audit.jsonl").read_text().splitlines()]
        self.assertIn(("site-7", "revoked"), [(line["name"], line["reason"]) for line in audit])

    def test_a_web_server_is_no_controller(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificates / "controller.pem", self.certificates / "controller.key")
        with socket.create_server(("127.0.0.1", 0)) as server:

            def serve():
                try:
                    with context.wrap_socket(server.accept()[0], server_side=True) as secured:
                        secured.recv(1)
                except OSError:
                    pass

            thread = threading.Thread(target=serve)
            thread.start()
            found = self.ids("--join", "127.0.0.1:%d" % server.getsockname()[1], "--ca",
                             self.certificates / "ca.pem", code=1)
            self.assertIn("tls.not-grpc", found)
            thread.join()

    def test_data_that_do_not_fit_the_model(self):
        self.write_data()
        self.done("model", "init", "mlp:8", "--shape", "20", "--classes", "10", "--out", "m.metis")
        self.assertIn("data.good", self.ids("--data", "train.npz"))
        found = self.ids("--data", "train.npz", "--model", "m.metis", code=1)
        self.assertIn("data.other-model", found)
        self.assertIn("data.bad", self.ids("--data", "fashion-mnsit", code=1))

    def test_in_words(self):
        said = self.metis("doctor", "--run", "run", "--listen", "127.0.0.1:0").stdout
        self.assertRegex(said, r"(?m)^ok       run          run is not there yet")
        self.assertRegex(said, r"(?m)^warning  listen       127.0.0.1:0 can be reached from this machine alone\n {22}\S")
        self.assertRegex(said, r"0 failures, \d+ warnings?, \d+ ok\n$")
        self.assertIn("Example", self.done("doctor", "--help"))


if __name__ == "__main__":
    unittest.main()
