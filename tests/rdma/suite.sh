#!/bin/bash
# The fabric transport over RDMA verbs, in one of two machines (machines.sh), while the other runs the same: suite.sh BUILD-FOLDER [short].
# Needs $NODE and $DRIVER. Each case begins when both machines are there. The short suite has the cases that a change breaks most easily.
set -uo pipefail
build=$1 length=${2:-whole} device=${DRIVER}0 wrong=0
ranks=$build/tests/comm/fabric_ranks
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

# is_right NAME STATUS WORDS OUTPUT [FAILS]: prints whether a case ended as it should: with the status 0 (any other with FAILS) and the words.
is_right() {
  local name=$1 status=$2 words=$3 output=$4 fails=${5:-}
  local has_failed=
  [ "$status" = 0 ] || has_failed=fails
  if [ "$status" != 124 ] && [ "$has_failed" = "$fails" ] && [[ $output == *$words* ]]; then
    echo "ok: $name"
  else
    printf 'WRONG: %s: exit status %s, looked for: %s\n%s\n' "$name" "$status" "$words" "$output"
    wrong=1
  fi
}

# begin NAME: each case has ports of its own.
begin() {
  name=$1
  port=$((port + 10))
  meet "$name"
}

# compare PUT RANKS [MODE]: every collective by verbs has the bits that it has by TCP.
compare() {
  begin "${3:-compare}-$1-$2"
  output=$(FASTGPU_COMM_FABRIC_PUT=$1 job "${3:-compare}" "$2")
  is_right "$name" $? "" "$output"
  [ "$NODE" = 2 ] || grep ' on .* put by ' <<<"$output"
}

# disturbed NAME FAILS WORDS COMMAND...: machine 2 runs the command while sums are checked.
disturbed() {
  local fails=$2 words=$3; begin "$1"; shift 3
  if [ "$NODE" = 2 ]; then (sleep 4; "$@") & fi
  output=$(job last 2)
  status=$?
  if [ "$fails" = "may fail" ]; then
    fails=
    [ "$status" = 0 ] && words= || fails=fails
  fi
  is_right "$name" "$status" "$words" "$output" "$fails"
  wait
}

cut_cable() { tc qdisc add dev eth0 root netem loss 100%; sleep 1; tc qdisc del dev eth0 root; }
take_link_down() { ip link set eth0 down; sleep 1; ip link set eth0 up; }

rdma link add "$device" type "$DRIVER" netdev eth0
ibv_devinfo -d "$device" | grep -E 'hca_id|transport|state' || exit 1
ways=(auto none a b c)
[ "$DRIVER" != siw ] || ways=(auto none b c)   # Its writes carry no number.
[ "$length" != short ] || ways=(auto)
for way in "${ways[@]}"; do compare "$way" 2; done
compare auto 3
compare auto 2 remap
compare auto 2 hybrid
if [ "$length" = whole ]; then
  compare auto 4
  compare auto 2 strangers
fi

begin automatic
output=$(FASTGPU_COMM_FABRIC=auto job automatic 2)
is_right "$name" $? "takes verbs" "$output"

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

disturbed cable-cut "" "" cut_cable
[ "$length" = whole ] || exit $wrong
# An interface that is down takes its addresses from the device: what is sent in this time ends the connection.
disturbed link-down-and-up "may fail" "the fabric (verbs" take_link_down

begin memlock
if [ "$NODE" = 2 ]; then
  output=$(ulimit -l 64; timeout 60 setpriv --inh-caps=-ipc_lock --bounding-set=-ipc_lock "$ranks" compare 2 0 2 127.0.0.1 "$port" 2>&1)
  is_right "$name" $? "raise the limit" "$output" fails
fi

# Last: the device does not come back.
disturbed device-removed fails "rank" rdma link del "$device"
exit $wrong
