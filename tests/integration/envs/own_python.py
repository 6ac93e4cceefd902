"""This machine's Python for tests of environments that bring one along: as an archive, and hidden
on nodes.
"""

import io
import pathlib
import subprocess
import tarfile

EACH = (
    'for folder in $(echo "$PATH" | tr : " "); do for name in "$folder"/python '
    '"$folder"/python[0-9]*; do case "$name" in *-*) continue;; esac; '
    'file=$(readlink -f "$name") && [ -x "$file" ] || continue; '
)
# The nodes' Pythons are that program until SHOW; the mounts are the nodes' own.
HIDE = EACH + 'mountpoint -q "$file" || mount --bind STAND_IN "$file"; done; done; true'
SHOW = EACH + '! mountpoint -q "$file" || umount "$file"; done; done; true'


def hide(stand_in="/bin/false"):
    """A shell's words."""
    return HIDE.replace("STAND_IN", stand_in)


def python_archive():
    """This machine's Python as an archive that can lie anywhere: an interpreter with its library in
    one folder.
    """
    library = pathlib.Path(
        subprocess.run(
            ["/usr/bin/python3", "-c", "import os; print(os.path.dirname(os.__file__))"],
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
    )
    left_out = {
        "test",
        "idlelib",
        "tkinter",
        "lib2to3",
        "pydoc_data",
        "dist-packages",
        "site-packages",
        "__pycache__",
        "unittest",
    }
    interpreter = pathlib.Path("/usr/bin/python3").resolve()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        archive.add(interpreter, f"python/bin/{interpreter.name}")
        link = tarfile.TarInfo("python/bin/python3")
        link.type, link.linkname = tarfile.SYMTYPE, interpreter.name
        archive.addfile(link)
        archive.add(
            library,
            f"python/lib/{library.name}",
            filter=lambda entry: (
                None
                if left_out & set(entry.name.split("/"))
                or entry.name.split("/")[-1].startswith("config-")
                else entry
            ),
        )
    return out.getvalue()
