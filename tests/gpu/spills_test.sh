#!/bin/sh
# A kernel that spills registers does not compile, and the error names it: spills_test.sh NVCC OPTIONS SOURCE
set -eu
if "$1" -optf "$2" -arch=sm_80 -c "$3" -o /dev/null 2>spills.err; then
  echo "it compiles" >&2
  exit 1
fi
grep -q "spilled to local memory in function.*kernel_that_spills" spills.err || { cat spills.err >&2; exit 1; }
