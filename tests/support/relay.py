"""A port of this machine that leads to another one."""

import contextlib
import select
import socket
import threading
import time


class Relay:
    """Passes bytes on between its port and an address, after it has said nothing for `delay` s."""

    def __init__(self, to, delay=0):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.to, self.delay = self.listener.getsockname()[1], to, delay
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        time.sleep(self.delay)
        with (
            client,
            socket.create_connection(self.to) as server,
            contextlib.suppress(OSError),
        ):
            ends = {client: server, server: client}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    if not (data := end.recv(65536)):
                        return
                    ends[end].sendall(data)
