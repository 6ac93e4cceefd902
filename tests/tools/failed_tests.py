"""The names of the tests that failed in a Meson run, one a line: failed_tests.py testlog.json"""

import json
import sys

with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
    for test in map(json.loads, log):
        if test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL"):
            print(test["name"].split(" / ", 1)[-1])
