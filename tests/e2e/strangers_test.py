"""Who is turned away before a word is said: the audit of the program names why.

Usage: strangers_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import json
import signal
import socket
import ssl
import subprocess
import unittest

from network_test import BUILTIN, SCRIPTS, NetworkTest


class StrangersTest(NetworkTest):
    def setUp(self):
        super().setUp()
        self.process = self.controller(BUILTIN, *self.tls("controller"))
        host, port = self.address(self.process).split(":")
        self.server = (host, int(port))

    def audit(self):
        path = self.home / "run/audit.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def expect_audited(self, words):
        self.wait_until(lambda: self.audit())
        line = self.audit()[0]
        self.assertEqual(line["reason"], "tls")
        self.assertIn(words, line["message"])
        self.process.process.send_signal(signal.SIGTERM)
        self.process.end()

    def shake_hands(self, certificate=None, key=None):
        """As a client that believes anybody; TLS 1.3 hears of the refusal when it reads."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        if certificate:
            context.load_cert_chain(certificate, key)
        with socket.create_connection(self.server, timeout=60) as connection:
            with self.assertRaises(OSError):
                with context.wrap_socket(connection) as secured:
                    if not secured.recv(1):
                        raise ConnectionResetError

    def test_without_a_certificate(self):
        self.shake_hands()
        self.expect_audited("did not return a certificate")

    def test_with_a_certificate_of_another_authority(self):
        subprocess.run([SCRIPTS / "make_certificates.sh", self.home / "strangers", "site-0"],
                       check=True)
        self.shake_hands(self.home / "strangers/site-0.pem", self.home / "strangers/site-0.key")
        self.expect_audited("certificate verify failed")

    def test_with_plain_text(self):
        with socket.create_connection(self.server, timeout=60) as connection:
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            try:
                while connection.recv(1000):
                    pass
            except OSError:
                pass
        self.expect_audited("")


if __name__ == "__main__":
    unittest.main()
