"""This machine's Python, for tests of environments that bring one along."""
import io
import pathlib
import subprocess
import tarfile


def python_archive():
    """This machine's Python as an archive that can lie anywhere: an interpreter with its library in one folder."""
    library = pathlib.Path(subprocess.run(["/usr/bin/python3", "-c", "import os; print(os.path.dirname(os.__file__))"], capture_output=True, check=True,
                                          text=True).stdout.strip())
    left_out = {"test", "idlelib", "tkinter", "lib2to3", "pydoc_data", "dist-packages", "site-packages", "__pycache__", "unittest"}
    interpreter = pathlib.Path("/usr/bin/python3").resolve()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        archive.add(interpreter, f"python/bin/{interpreter.name}")
        link = tarfile.TarInfo("python/bin/python3")
        link.type, link.linkname = tarfile.SYMTYPE, interpreter.name
        archive.addfile(link)
        archive.add(library, f"python/lib/{library.name}",
                    filter=lambda entry: None if left_out & set(entry.name.split("/")) or entry.name.split("/")[-1].startswith("config-") else entry)
    return out.getvalue()
