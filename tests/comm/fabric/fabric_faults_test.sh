#!/bin/bash
# What a job says that cannot use the fabric it wants: fabric_faults_test.sh RANKS-PROGRAM PLUGIN OTHER-VERSION OLD-LIBRARY INTERFERING
set -u
ranks=$1 plugin=$2 other=$3 old=$4 interfering=$5 failed=0

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
says ", FASTGPU_COMM_FABRIC_DEVICE): there is net, " FASTGPU_COMM_FABRIC=pigeon -- compare 2
says "; FI_PROVIDER is 'shm', which may hide it" FASTGPU_COMM_FABRIC=net FI_PROVIDER=shm -- compare 2
says "rank 0: rank 1: no 'pigeon' is usable here" FASTGPU_COMM_FABRIC=net FABRIC_RANKS_PROVIDER=pigeon -- differ 2
says "but only net, which uses no such device, carries messages to rank " FASTGPU_COMM_REQUIRE=fabric -- meet 2
[ -e /sys/class/infiniband ] ||
  says "rank 0: FASTGPU_COMM_REQUIRE is 'fabric', but no fabric carries messages to rank 1, which has taken none: FASTGPU_COMM_FABRIC is not set, and the machine has no RDMA device" \
    FASTGPU_COMM_REQUIRE=fabric FASTGPU_COMM_FABRIC=net FABRIC_RANKS_PROVIDER= -- automatic 2
says "no 'net' on 'eth77' is usable here (FASTGPU_COMM_FABRIC, FASTGPU_COMM_FABRIC_DEVICE): there is " \
  FASTGPU_COMM_FABRIC=net FASTGPU_COMM_FABRIC_DEVICE=eth77 -- compare 2
[ -e /sys/class/infiniband ] ||
  says "no RDMA device 'lo' is usable here (FASTGPU_COMM_FABRIC, FASTGPU_COMM_FABRIC_DEVICE); a provider in software is taken if FASTGPU_COMM_FABRIC names it" \
    FASTGPU_COMM_FABRIC_DEVICE=lo -- automatic 2
says "FASTGPU_COMM_FABRIC_PUT is 'd', not one of auto, a, b, c, none" FASTGPU_COMM_FABRIC_PUT=d -- compare 2
says "FASTGPU_COMM_TRANSPORT is 'fabric', but rank 1 is not reached by one: tcp;ofi_rxm there, net here" \
  FASTGPU_COMM_FABRIC=net FABRIC_RANKS_PROVIDER='tcp;ofi_rxm' -- differ 2
says "has version 99, and this library needs" FASTGPU_COMM_FABRIC_PLUGIN="$other" -- compare 2
says "libfabric 1.14 is too old: install 1.17 or newer" FASTGPU_COMM_FABRIC_PLUGIN="$old" -- compare 2
says "loading the plugin for libfabric" FASTGPU_COMM_FABRIC_PLUGIN=/nonexistent.so -- compare 2
says "'libm.so.6' is not a plugin for libfabric" FASTGPU_COMM_FABRIC_PLUGIN=libm.so.6 -- compare 2

(ulimit -n 9 && says "run \`ulimit -n 1024\`" FASTGPU_COMM_FABRIC=net -- meet 2; exit "$failed") || failed=1
# Enough for the endpoint, and too few for its connections: said before the end of the time to join.
(ulimit -n 20 && says "more open files than this process may have" FASTGPU_COMM_FABRIC=net \
  FASTGPU_COMM_JOIN_TIMEOUT=8s -- meet 6; exit "$failed") || failed=1

# Two jobs use one device at a time.
both() { env FASTGPU_COMM_FABRIC_PLUGIN="$plugin" FASTGPU_COMM_FABRIC="$1" timeout 120 "$ranks" compare 2; }
for provider in net 'tcp;ofi_rxm'; do
  both "$provider" >/dev/null & first=$!
  both "$provider" >/dev/null || { echo "the second of two jobs by $provider failed" >&2; failed=1; }
  wait "$first" || { echo "the first of two jobs by $provider failed" >&2; failed=1; }
done

# What killed ranks leave in shared memory is removed by the next job.
left() { find /dev/shm -maxdepth 1 -name "*:$(id -u):*" -printf '%f\n' | while IFS=: read -r process _; do
  kill -0 "${process%%.*}" 2>/dev/null || echo "$process"; done; }
env FASTGPU_COMM_FABRIC_PLUGIN="$plugin" FASTGPU_COMM_FABRIC=shm timeout 60 "$ranks" kill 3 >/dev/null 2>&1
[ -n "$(left)" ] || { echo "killed ranks leave no files by shm any more" >&2; failed=1; }
both shm >/dev/null || { echo "a job by shm failed after killed ranks" >&2; failed=1; }
[ -z "$(left)" ] || { echo "files of killed ranks are left: $(left)" >&2; failed=1; }

# Networks that go while a job begins; only where this network is the test's own.
add_cable() {
  ip link add cable0 type veth peer name cable1
  ip address add 10.9.9.1/24 dev cable0
  ip address add fd01::1/64 dev cable1 nodad
  ip link set cable0 up
  ip link set cable1 up
  for _ in {1..50}; do ip -br link show dev cable1 | grep -q ' UP ' && return; sleep 0.1; done
}
if [ "$(id -u)" = 0 ] && [ "$(ip -br link | wc -l)" = 1 ]; then
  cut=(FASTGPU_TEST_REAL_PLUGIN="$plugin" FASTGPU_COMM_FABRIC_PLUGIN="$interfering" FASTGPU_COMM_FABRIC=net FASTGPU_COMM_FABRIC_DEVICE=cable0)
  add_cable
  says "net has addresses of two kinds, IPv6 there, IPv4 here. Name devices with addresses of one kind by FASTGPU_COMM_FABRIC_DEVICE" \
    FASTGPU_COMM_FABRIC=net FASTGPU_COMM_FABRIC_DEVICE=cable0 FABRIC_RANKS_DEVICE=cable1 -- differ 2
  says "opening net on cable0: libfabric: " "${cut[@]}" \
    FASTGPU_TEST_BEFORE_OPEN='ip link delete cable0 2>/dev/null; true' -- compare 2
  add_cable
  says "it does not answer by net on cable0" "${cut[@]}" \
    FASTGPU_TEST_BEFORE_CONNECT='ip address delete 10.9.9.1/24 dev cable0 2>/dev/null; true' -- compare 2
fi

# The provider shm names its files by process ids. In PID namespaces of their own the ranks of each run have the same ids,
# so the files of a killed rank are in the way of the next run.
alone() { env FASTGPU_COMM_FABRIC_PLUGIN="$plugin" FASTGPU_COMM_FABRIC=shm FASTGPU_COMM_FABRIC_PUT=a timeout 60 unshare --pid --fork --mount-proc "$@"; }
# apart VARIABLE=VALUE...: two ranks, each in a PID namespace of its own; prints what they print. Exits as the first one.
apart() {
  local port=$((20000 + $$ % 10000)) second status
  alone env "$@" "$ranks" compare 2 1 1 127.0.0.1 "$port" 2>&1 & second=$!
  alone env "$@" "$ranks" compare 2 0 1 127.0.0.1 "$port" 2>&1; status=$?
  wait "$second"
  return "$status"
}
if alone true 2>/dev/null; then
  words="is not reached by one: shm reaches only ranks in the same PID namespace and with the same /dev/shm. Set FASTGPU_COMM_FABRIC=tcp"
  # Both ranks have the same process id, and make their files in /dev/shm at the same time.
  for _ in {1..4}; do
    output=$(apart); status=$?
    [[ $status = 1 && $output == *"rank 0: "*"rank 1 $words"* && $output == *"rank 1: "*"rank 0 $words"* ]] ||
      { printf '%s\nranks in two PID namespaces by shm: exited with %s, without: %s\n' "$output" "$status" "$words" >&2; failed=1; break; }
  done
  apart FASTGPU_COMM_FABRIC=tcp || { echo "ranks in two PID namespaces by tcp failed" >&2; failed=1; }
  for _ in 1 2 3; do alone "$ranks" kill 3 >/dev/null 2>&1; done
  alone "$ranks" compare 3 || { echo "files of killed ranks are in the way" >&2; failed=1; }
fi
exit $failed
