"""A TCP proxy on loopback that counts bytes and, when asked, cuts all of its connections in the middle of them."""

import socket
import threading
import time

PIECE = 16 << 10  # bytes forwarded at a time: a cut falls on its byte all the same

RATE = 50e6  # bytes a second of one connection, each way: a link, not the programs, is the bottleneck

UP, DOWN = "up", "down"  # towards the controller, towards the participant


class CuttingProxy:
    """Forwards every connection to `target` ("HOST:PORT"); `address` is where it listens.

    After cut_after(direction, n) it lets n more bytes through in that direction, all connections
    together, and then closes all of them. Later connections pass. Thread-safe.
    """

    def __init__(self, target):
        host, port = target.rsplit(":", 1)
        self._target = (host, int(port))
        self._lock = threading.Lock()
        self._open = set()  # sockets, both sides of each connection
        self._bytes = {UP: 0, DOWN: 0}
        self._cut_at = {UP: None, DOWN: None}
        self._cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_after(self, direction, count):
        with self._lock:
            self._cut_at[direction] = self._bytes[direction] + count

    @property
    def cuts(self):
        """How often it has cut."""
        with self._lock:
            return self._cuts

    def bytes(self, direction):
        """How many bytes it has let through."""
        with self._lock:
            return self._bytes[direction]

    def close(self):
        self._shut(self._listener)
        with self._lock:
            self._drop_all()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return  # closed
            try:
                far = socket.create_connection(self._target, timeout=60)
            except OSError:
                near.close()  # the controller is away
                continue
            far.settimeout(None)
            with self._lock:
                self._open |= {near, far}
            for source, sink, direction in ((near, far, UP), (far, near, DOWN)):
                threading.Thread(target=self._forward, args=(source, sink, direction),
                                 daemon=True).start()

    def _forward(self, source, sink, direction):
        try:
            while piece := source.recv(PIECE):
                allowed, cut = self._claim(direction, len(piece))
                sink.sendall(piece[:allowed])
                time.sleep(allowed / RATE)
                if cut:
                    with self._lock:
                        self._drop_all()
                    return
        except OSError:
            pass  # the other direction has ended it, or a cut
        with self._lock:
            for each in (source, sink):
                self._drop(each)

    def _claim(self, direction, count):
        """How many of `count` bytes may pass, and whether this is the cut."""
        with self._lock:
            end = self._cut_at[direction]
            cut = end is not None and self._bytes[direction] + count >= end
            if cut:
                count = end - self._bytes[direction]
                self._cut_at[direction] = None
                self._cuts += 1
            self._bytes[direction] += count
            return count, cut

    def _drop_all(self):
        for each in list(self._open):
            self._drop(each)

    def _drop(self, each):
        if each in self._open:
            self._open.remove(each)
            self._shut(each)

    @staticmethod
    def _shut(each):
        try:
            each.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads it
        except OSError:
            pass
        each.close()
