"""A controller whose file descriptors run out: it accepts again, or asks to be started again.

Usage: descriptors_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import socket
import time
import unittest

from network_test import BUILTIN, NetworkTest

LIMIT = 130  # of open files: gRPC's own, the log, and some twenty connections


class DescriptorsTest(NetworkTest):
    def start(self, *options):
        controller = self.controller({**BUILTIN, "network.max_connections": 10}, *options,
                                     limit=LIMIT)
        host, port = self.address(controller).split(":")
        return controller, (host, int(port))

    def connect(self, address):
        """A connection that never says a word."""
        try:
            return socket.create_connection(address, timeout=60)
        except OSError:  # it is gone already
            return None

    def hold_all(self, controller, address):
        """More connections than there are descriptors; returns them, and when they had run out."""
        held = [self.connect(address) for _ in range(LIMIT)]
        self.wait_until(lambda: "file descriptors ran out" in controller.said())
        return held, time.monotonic()

    def release(self, held):
        for each in held:
            if each:
                each.close()

    def greets(self, address):
        """Whether a new connection hears the server's first frame (without TLS it speaks first)."""
        try:
            with socket.create_connection(address, timeout=1) as connection:
                return len(connection.recv(1)) == 1
        except OSError:
            return False

    def expect_back(self, controller, address, since, how):
        """Accepts again, or ended for its supervisor."""
        self.wait_until(lambda: controller.process.poll() is not None or self.greets(address))
        took = time.monotonic() - since
        code = controller.process.poll()
        print(f"{how}: {'accepts again' if code is None else f'exit {code}'} after {took:.1f} s")
        if code is None:
            return
        self.assertEqual(code, 75, controller.said())
        self.assertIn("Start it again", controller.said())
        self.assertFalse((self.home / "run/address").exists())

    def test_that_are_released_again(self):
        controller, address = self.start("--insecure")
        held, _ = self.hold_all(controller, address)
        self.release(held)
        self.expect_back(controller, address, time.monotonic(), "released")

    def test_that_are_held_for_ever(self):
        controller, address = self.start("--insecure")
        held, since = self.hold_all(controller, address)
        controller.end(code=75)
        self.expect_back(controller, address, since, "held")
        self.release(held)

    def test_that_are_held_for_ever_under_tls(self):
        controller, address = self.start(*self.tls("controller"))
        held, since = self.hold_all(controller, address)
        controller.end(code=75)
        self.expect_back(controller, address, since, "held, TLS")
        self.release(held)

    def test_after_a_new_start_it_goes_on(self):
        controller, address = self.start("--insecure")
        held, _ = self.hold_all(controller, address)
        controller.end(code=75)
        self.release(held)
        again, address = self.start("--insecure")
        self.wait_until(lambda: self.greets(address))
        self.assertIsNone(again.process.poll())


if __name__ == "__main__":
    unittest.main()
