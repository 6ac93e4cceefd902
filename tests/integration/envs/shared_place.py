"""One directory of this machine that several local nodes see at the same place, as nodes see a home
on a file server.
"""

import ctypes
import os

from cli_user import inits_of

OPEN_TREE, MOVE_MOUNT = 428, 429  # The same on every processor.
CLONE_TREE, CLOSE_ON_EXEC, FROM_DESCRIPTOR, AT_FDCWD = 1, 0o2000000, 4, -100
CLONE_NEWNS = 0x20000

libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def share(folder, init, place):
    """Mounts `folder` at `place` of the node whose first process is
    `init`; `place` must be there.
    """
    tree = checked(
        libc.syscall(OPEN_TREE, AT_FDCWD, os.fsencode(folder), CLONE_TREE | CLOSE_ON_EXEC)
    )
    child = os.fork()
    if child == 0:
        try:
            world = os.open(f"/proc/{init}/ns/mnt", os.O_RDONLY)
            # Its world's own root where a machine's root is no mount of its own.
            root = os.open(f"/proc/{init}/root", os.O_PATH)
            checked(libc.setns(world, CLONE_NEWNS))
            checked(
                libc.syscall(
                    MOVE_MOUNT, tree, b"", root, os.fsencode(place.lstrip("/")), FROM_DESCRIPTOR
                )
            )
            os._exit(0)
        except OSError as failure:
            print(failure, flush=True)
            os._exit(1)
    os.close(tree)
    if os.waitpid(child, 0)[1] != 0:
        raise OSError(f"{folder} cannot be shared with a node")


def share_home(site):
    """Both nodes of the site get one directory at /srv/home; where it lies here."""
    place = site.user.folder / "home"
    place.mkdir()
    site.on_nodes("mkdir", "-p", "/srv/home")
    for number in (0, 1):
        share(place, next(inits_of(f"{site.name}-{number}")), "/srv/home")
    return place
