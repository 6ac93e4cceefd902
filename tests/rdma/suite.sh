#!/bin/bash
# The fabric transport over RDMA verbs, in one of two machines (machines.sh), while the other runs the same: suite.sh BUILD-FOLDER [short].
# Needs $NODE and $DRIVER. Each case begins when both machines are there. The short suite has no case in which an interface goes
# down or a queue pair is killed: what libfabric does then differs from run to run.
set -uo pipefail
build=$1 length=${2:-whole} device=${DRIVER}0 wrong=0
tests=$build/tests/comm ranks=$build/tests/comm/fabric_ranks
export FASTGPU_COMM_FABRIC=verbs FASTGPU_COMM_FABRIC_PLUGIN=$build/comm/libfastgpu_comm_fabric.so FASTGPU_COMM_TIMEOUT=60s

# meet NAME: waits until the other machine is there, too.
meet() {
  touch "/out/$1.$NODE"
  for ((i = 0; i < 600; i++)); do
    [ ! -e "/out/$1.$((3 - NODE))" ] || return 0
    sleep 0.2
  done
  echo "$1: the other machine does not come"
  exit 1
}

port=20000
# job MODE RANKS: ranks of one job in both machines; prints what they print.
job() {
  local all=$2 first=0 count=$(($2 - $2 / 2))
  [ "$NODE" = 1 ] || { first=$count count=$((all / 2)); }
  timeout 120 "$ranks" "$1" "$all" "$first" "$count" 10.77.0.1 $port 2>&1
}

# second_with VARIABLE=VALUE... -- MODE RANKS: a job whose ranks in machine 2 have these variables, too.
second_with() (
  while [ "$1" != -- ]; do
    [ "$NODE" = 1 ] || export "${1?}"
    shift
  done
  shift
  job "$@"
)

# is_right NAME STATUS WORDS OUTPUT [FAILS]: prints whether a case ended as it should: with the status 0 (any other with FAILS) and the words.
is_right() {
  local name=$1 status=$2 words=$3 output=$4 fails=${5:-}
  local has_failed=
  [ "$status" = 0 ] || has_failed=fails
  if [ "$status" != 124 ] && [ "$has_failed" = "$fails" ] && [[ $output == *$words* ]]; then
    echo "ok: $name ($((SECONDS - begun)) s)"
  else
    printf 'WRONG: %s (%s s): exit status %s, looked for: %s\n%s\n' "$name" "$((SECONDS - begun))" "$status" "$words" "$output"
    wrong=1
  fi
}

# begin NAME: each case has ports of its own.
begin() {
  name=$1
  port=$((port + 10))
  meet "$name"
  begun=$SECONDS
}

# has_crashed OUTPUT: whether libfabric has crashed in a machine. ofi_rxm of 1.17 may do so when a message comes while it closes a connection.
has_crashed() {
  [[ $1 != *"terminated with signal 11"*libfabric* ]] || touch "/out/$name.crashed"
  meet "$name-ended"
  [ -e "/out/$name.crashed" ]
}

# attempt MODE RANKS: a job, and once more if libfabric has crashed.
attempt() {
  output=$(job "$@")
  status=$?
  has_crashed "$output" || return
  echo "again: $name"
  grep -m 3 -e signal -e libfabric <<<"$output"
  begin "$name-again"
  output=$(job "$@")
  status=$?
}

# compare PUT RANKS [MODE]: every collective by verbs has the bits that it has by TCP.
compare() {
  begin "${3:-compare}-$1-$2"
  FASTGPU_COMM_FABRIC_PUT=$1 attempt "${3:-compare}" "$2"
  is_right "$name" "$status" "" "$output"
  [ "$NODE" = 2 ] || grep ' on .* put by ' <<<"$output"
}

# disturbed NAME MODE FAILS WORDS COMMAND...: machine 2 runs the command while sums are checked.
disturbed() {
  local mode=$2 fails=$3 words=$4; begin "$1"; shift 4
  if [ "$NODE" = 2 ]; then (sleep 4; "$@") & fi
  output=$(job "$mode" 2)
  status=$?
  if [ "$fails" = "may fail" ]; then
    fails=
    [ "$status" = 0 ] && words= || fails=fails
  fi
  is_right "$name" "$status" "$words" "$output" "$fails"
  wait
}

# with_dead_pairs MODE: ranks whose queue pairs in machine 2 all fail while sums are checked.
with_dead_pairs() {
  output=$(second_with LD_PRELOAD="$tests/libqueue_pair_killer.so" QUEUE_PAIR_KILLER_SECONDS=4 -- "$1" 2)
  status=$?
  [ "$NODE" = 1 ] || [[ $output == *"a queue pair was killed: 0"* ]] || status=124
}

# without_device WHEN: a job of its own choice; in machine 2 the device goes before WHEN (OPEN, CONNECT).
without_device() {
  output=$(FASTGPU_COMM_FABRIC=auto second_with FASTGPU_COMM_FABRIC_PLUGIN="$tests/libfabric_interfering.so" \
    FASTGPU_TEST_REAL_PLUGIN="$FASTGPU_COMM_FABRIC_PLUGIN" "FASTGPU_TEST_BEFORE_$1=rdma link del $device" -- automatic 2)
  status=$?
  [ "$NODE" = 1 ] || add_device
}

add_device() { rdma link add "$device" type "$DRIVER" netdev eth0; }
cut_cable() { tc qdisc add dev eth0 root netem loss 100%; sleep 1; tc qdisc del dev eth0 root; }
take_link_down() { ip link set eth0 down; sleep 1; ip link set eth0 up; }

add_device
ibv_devinfo -d "$device" | grep -E 'hca_id|transport|state' || exit 1
ways=(auto none a b c)
[ "$DRIVER" != siw ] || ways=(auto none b c)   # Its writes carry no number.
[ "$length" != short ] || ways=(auto)
for way in "${ways[@]}"; do compare "$way" 2; done
compare auto 3
compare auto 4
compare auto 3 train
compare auto 2 remap
compare auto 2 fork
compare auto 2 hybrid
compare auto 2 strangers

begin automatic
FASTGPU_COMM_FABRIC=auto attempt automatic 2
is_right "$name" "$status" "takes verbs" "$output"

begin no-plugin
output=$(FASTGPU_COMM_FABRIC=auto FASTGPU_COMM_FABRIC_PLUGIN=/nonexistent.so job automatic 2)
is_right "$name" $? "has an RDMA device, but TCP carries messages to other machines: loading the plugin" "$output"

begin no-files
hidden=$(mktemp -d)
output=$(mount --bind "$hidden" /dev/infiniband; FASTGPU_COMM_FABRIC=auto job automatic 2)
is_right "$name" $? "TCP carries messages to other machines: /dev/infiniband has no uverbs device" "$output"
umount /dev/infiniband

begin kill
output=$(job kill 3)
is_right "$name" $? "rank 1" "$output"

begin memlock
if [ "$NODE" = 2 ]; then
  output=$(ulimit -l 64; timeout 60 setpriv --inh-caps=-ipc_lock --bounding-set=-ipc_lock "$ranks" compare 2 0 2 127.0.0.1 "$port" 2>&1)
  is_right "$name" $? "raise the limit" "$output" fails
fi

disturbed cable-cut last "" "" cut_cable
[ "$length" = whole ] || exit $wrong

disturbed link-down-and-up-beside-tcp hybrid-last "" "" take_link_down
begin queue-pairs-killed-beside-tcp
with_dead_pairs hybrid-last
is_right "$name" "$status" "" "$output"

# libfabric 1.17 may report neither of these, and lose what was under way: then the calls end once a question fails, or at their deadline.
export FASTGPU_COMM_TIMEOUT=20s
begin queue-pairs-killed
with_dead_pairs last
is_right "$name" "$status" "rank" "$output" fails
# An interface that is down takes its addresses from the device: what is sent in this time ends the connection.
disturbed link-down-and-up last "may fail" "rank" take_link_down
export FASTGPU_COMM_TIMEOUT=60s

# The tests of the transport, each machine by itself.
begin memory
output=$(FASTGPU_TEST_FABRIC=verbs FASTGPU_TEST_FABRIC_PLUGIN=$FASTGPU_COMM_FABRIC_PLUGIN timeout 600 "$tests/test_comm_fabric_memory" 2>&1)
is_right "$name" $? "SUCCESS" "$output"

begin device-gone-before-open
without_device OPEN
words="TCP carries messages to other machines: opening verbs"
[ "$NODE" = 2 ] || words="has no matching fabric (none there"
is_right "$name" "$status" "$words" "$output"

begin device-gone-before-connect
without_device CONNECT
is_right "$name" "$status" "TCP carries messages to other machines: " "$output"

disturbed device-removed last fails "rank" rdma link del "$device"
exit $wrong
