"""Memory that a virtual machine's host has given already.

Such a host takes back what its guest leaves free for some seconds, and to be given it again costs
the guest seconds of CPU for each GiB that it writes. A machine that has been in use for a while
pays nothing of that: its memory is full of files that it has read, and what is written anew takes
their place. Before a measurement these bring any machine into that state.
"""

import contextlib
import os
import pathlib
import tempfile

# Bytes: of one read, between two looks, of a file that takes no room.
PIECE, STEP, HOLES = 4 << 20, 256 << 20, 1 << 43


def free_bytes():
    lines = pathlib.Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemFree:"))


class FilledMemory:
    """Reads on in a file of holes: each piece of it is new to the kernel, and takes memory."""

    def __init__(self, file):
        self.file, self.read, self.piece = file, 0, bytearray(PIECE)

    def fill(self):
        """Until the kernel reuses what files occupy, and leaves alone what is free still."""
        was_reused = 0
        while was_reused < 2:
            before = free_bytes()
            for _ in range(STEP // PIECE):
                self.read += os.preadv(self.file, [self.piece], self.read)
            was_reused = was_reused + 1 if before - free_bytes() < STEP // 4 else 0


@contextlib.contextmanager
def filled(folder):
    """`folder` is on a disk, whose files the kernel may drop from memory."""
    with tempfile.TemporaryFile(dir=folder) as file:
        os.ftruncate(file.fileno(), HOLES)
        yield FilledMemory(file.fileno())
