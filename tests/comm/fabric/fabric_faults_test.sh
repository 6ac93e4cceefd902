#!/bin/bash
# What a job says that cannot use the fabric it wants: fabric_faults_test.sh RANKS-PROGRAM PLUGIN OTHER-VERSION OLD-LIBRARY
set -u
ranks=$1 plugin=$2 other=$3 old=$4 failed=0

# says WORDS VARIABLE=VALUE... -- ARGUMENT...: the program fails, and says the words.
says() {
  local words=$1 variables=() output status; shift
  while [ "$1" != -- ]; do variables+=("$1"); shift; done
  shift
  output=$(env FASTGPU_COMM_FABRIC_PLUGIN="$plugin" "${variables[@]}" timeout 60 "$ranks" "$@" 2>&1); status=$?
  if [ "$status" = 0 ] || [ "$status" = 124 ] || [[ "$output" != *"$words"* ]]; then
    printf '%s\nexited with %s, without: %s\n' "$output" "$status" "$words" >&2
    failed=1
  fi
}

says "no 'pigeon' is usable here (FASTGPU_COMM_FABRIC, FASTGPU_COMM_FABRIC_DEVICE)" FASTGPU_COMM_FABRIC=pigeon -- compare 2
says "no 'net' on 'eth77' is usable here (FASTGPU_COMM_FABRIC, FASTGPU_COMM_FABRIC_DEVICE): there is " \
  FASTGPU_COMM_FABRIC=net FASTGPU_COMM_FABRIC_DEVICE=eth77 -- compare 2
says "FASTGPU_COMM_FABRIC_PUT is 'd', not one of auto, a, b, c, none" FASTGPU_COMM_FABRIC_PUT=d -- compare 2
says "FASTGPU_COMM_TRANSPORT is 'fabric', but rank 1 is not reached by one: tcp;ofi_rxm there, net here" \
  FASTGPU_COMM_FABRIC=net -- differ 2
says "has version 99, and this library needs" FASTGPU_COMM_FABRIC_PLUGIN="$other" -- compare 2
says "libfabric 1.14 is too old: install 1.17 or newer" FASTGPU_COMM_FABRIC_PLUGIN="$old" -- compare 2
says "loading the plugin for libfabric" FASTGPU_COMM_FABRIC_PLUGIN=/nonexistent.so -- compare 2
says "'libm.so.6' is not a plugin for libfabric" FASTGPU_COMM_FABRIC_PLUGIN=libm.so.6 -- compare 2

# The provider shm names its files by process ids. In PID namespaces of their own the ranks of each run have the same ids,
# so the files of a killed rank are in the way of the next run.
alone() { env FASTGPU_COMM_FABRIC_PLUGIN="$plugin" FASTGPU_COMM_FABRIC=shm FASTGPU_COMM_FABRIC_PUT=a timeout 60 unshare --pid --fork --mount-proc "$@"; }
if alone true 2>/dev/null; then
  for _ in 1 2 3; do alone "$ranks" kill 3 >/dev/null 2>&1; done
  alone "$ranks" compare 3 || { echo "files of killed ranks are in the way" >&2; failed=1; }
fi
exit $failed
