"""Adds up what the tests of a Meson run said: summary.py testlog.json

Failed tests are shown with the end of their output; the last line is "N passed, N failed, N
skipped". A doctest program counts its cases, any other test counts as one.
"""

import json
import re
import sys

CASES = re.compile(r"test cases:\s*(\d+) \|\s*(\d+) passed \|\s*(\d+) failed \|\s*(\d+) skipped")
SKIPPED, TAIL = 77, 40


def counts(test):
    """(passed, failed, skipped) of one test program."""
    output = test.get("stdout", "") + test.get("stderr", "")
    found = CASES.search(output)
    if test["result"] == "SKIP" or test["returncode"] == SKIPPED:
        return 0, 0, 1
    ok = test["result"] in ("OK", "EXPECTEDFAIL")
    if not found:
        return (1, 0, 0) if ok else (0, 1, 0)
    _, passed, failed, skipped = map(int, found.groups())
    return passed, failed if ok or failed else 1, skipped


def main():
    totals = [0, 0, 0]
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        for line in log:
            test = json.loads(line)
            passed, failed, skipped = counts(test)
            if failed:
                output = (test.get("stdout", "") + test.get("stderr", "")).splitlines()
                print(f"--- {test['name']}: {test['result']} (exit status {test['returncode']})")
                print("\n".join(output[-TAIL:]))
            elif skipped and not passed:
                print(
                    f"--- {test['name']}: skipped: "
                    f"{(test.get('stdout', '') + test.get('stderr', '')).strip()[-200:]}"
                )
            totals = [a + b for a, b in zip(totals, (passed, failed, skipped), strict=True)]
    print("{} passed, {} failed, {} skipped".format(*totals))
    sys.exit(1 if totals[1] or not totals[0] else 0)


main()
