#!/bin/bash
# 64 ranks with an endpoint each, and few open files: many_ranks_test.sh RANKS-PROGRAM PLUGIN
set -u
export FASTGPU_COMM_FABRIC=net FASTGPU_COMM_FABRIC_PLUGIN=$2 FASTGPU_COMM_JOIN_TIMEOUT=30s
ranks=$1 failed=0

(ulimit -n 256; timeout 100 "$ranks" meet 64) || { echo "64 ranks have not met with 256 files each" >&2; failed=1; }

# refuses FILES WORDS: with so many files for each rank they do not meet, and say why.
refuses() {
  local output status
  output=$(ulimit -n "$1"; timeout 100 "$ranks" meet 64 2>&1); status=$?
  if [ "$status" = 0 ] || [ "$status" = 124 ] || [[ "$output" != *"$2"* ]]; then
    printf '%s\nexited with %s, without: %s\n' "$output" "$status" "$2" >&2
    failed=1
  fi
}

refuses 60 "run \`ulimit -n 1024\`"   # The connections by TCP.
refuses 90 "more open files than this process may have: run \`ulimit -n 65536\`"   # Those of the fabric.
exit $failed
