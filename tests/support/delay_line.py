"""A switch that forwards every frame after the same delay, for kernels without netem: delay_line.py
MILLISECONDS INTERFACE...

Quick enough for messages whose time is latency; not for links that are full.
"""

import collections
import select
import socket
import struct
import sys
import time

# Of Linux; Python has no names for them.
SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING, SO_TIMESTAMPNS, ETH_P_ALL = 263, 15, 23, 35, 3
OFFLOADS = (
    10  # Bytes ahead of a frame: what the sender has left to the device, which stays to be done.
)
LONGEST = 1 << 17


class Port:
    def __init__(self, interface):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        self.socket.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.bind((interface, ETH_P_ALL))

    def fileno(self):
        return self.socket.fileno()

    def frames(self):
        """What has come: (when, frame)."""
        while True:
            try:
                frame, ancillary, _, _ = self.socket.recvmsg(LONGEST, 64)
            except BlockingIOError:
                return
            seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
            yield seconds + nanoseconds * 1e-9, frame


def main():
    delay, ports = float(sys.argv[1]) / 1e3, [Port(name) for name in sys.argv[2:]]
    behind = {}  # Where an address was seen.
    waiting = collections.deque()
    print("ready", flush=True)
    while True:
        patience = max(0, waiting[0][0] - time.time()) if waiting else None
        for port in select.select(ports, [], [], patience)[0]:
            for when, frame in port.frames():
                target, source = frame[OFFLOADS : OFFLOADS + 6], frame[OFFLOADS + 6 : OFFLOADS + 12]
                behind[source] = port
                waiting.append((when + delay, frame, port, target))
        while waiting and waiting[0][0] <= time.time():
            _, frame, port, target = waiting.popleft()
            for to in (
                [behind[target]]
                if target in behind
                else [other for other in ports if other is not port]
            ):
                to.socket.send(frame)


main()
