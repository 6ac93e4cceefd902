#!/bin/sh
# The shared library shows the functions of its C headers and nothing else: LIBRARY HEADER...
set -eu
library=$1
shift
shown=$(nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort)
declared=$(sed -n 's/^[a-z].*[ *]\(fgc_[a-z_]*\)(.*/\1/p' "$@" | sort -u)
if [ "$shown" != "$declared" ]; then
  printf 'shown:\n%s\ndeclared:\n%s\n' "$shown" "$declared" >&2
  exit 1
fi
