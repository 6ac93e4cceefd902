#!/bin/sh
# The shared library shows the functions of its C header and nothing else.
set -eu
library=$1
header=$2
shown=$(nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort)
declared=$(grep -o 'fgc_[a-z_]*(' "$header" | tr -d '(' | sort -u)
if [ "$shown" != "$declared" ]; then
  printf 'shown:\n%s\ndeclared:\n%s\n' "$shown" "$declared" >&2
  exit 1
fi
