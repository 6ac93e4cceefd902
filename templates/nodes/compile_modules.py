# Compiles Python files to bytecode. Its arguments are the packages' directory and that directory's
# name in bytecode; its input lists the files, each with a NUL at its end.
import compileall
import concurrent.futures
import itertools
import os
import re
import sys

place, named = sys.argv[1:]
files = [os.fsdecode(one) for one in sys.stdin.buffer.read().split(b"\0")[:-1]]
work = [
    [os.path.join(place, one) for one in files],
    [os.path.join(named, os.path.dirname(one)) for one in files],
    itertools.repeat(False),
    itertools.repeat(re.compile("site-packages/.*/tests?/")),
    itertools.repeat(2),
]
try:
    with concurrent.futures.ProcessPoolExecutor() as pool:
        list(pool.map(compileall.compile_file, *work, chunksize=8))
except (ImportError, NotImplementedError, OSError):
    list(map(compileall.compile_file, *work))
