#!/bin/bash
# Local nodes of an ordinary user: the whole journey, then what is different without root.
# Usage: rootless.sh JOURNEY FASTGPU AGENT INIT [quick]. Run as root, to make a user for the time of
# the test. Exit code 77: this machine cannot carry it. "quick" leaves the journey out.
set -u
[[ $(id -u) == 0 ]] || exit 77
for program in sshd mpirun ip useradd runuser newuidmap fuse-overlayfs; do
  PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null || exit 77
done
user=fgtest$RANDOM
useradd --create-home --shell /bin/bash "$user" || exit 77
uid=$(id -u "$user")
home=$(getent passwd "$user" | cut -d: -f6)
first=$(grep "^$user:" /etc/subuid | cut -d: -f2)
work=$(mktemp -d)
. "$(dirname "$0")/../../support/checks.sh"

# Ordinary users may not reach the folder that we are built in.
chmod 755 "$work"
mkdir -p "$work/bin" "$work/libexec/fastgpu" "$work/integration/cli" "$work/support"
cp "$1" "$work/integration/cli/"
cp "$(dirname "$0")/../../support/checks.sh" "$work/support/"
cp "$2" "$work/bin/fastgpu"
cp "$3" "$4" "$work/libexec/fastgpu/"
cluster=rl$RANDOM

as_user() {
  runuser -u "$user" -- env -i PATH="$PATH" HOME="$home" NO_COLOR=1 FASTGPU_ROOTLESS=1 \
    XDG_STATE_HOME="$home/state" bash -c 'cd && exec "$@"' - "$@"
}
fastgpu() { as_user "$work/bin/fastgpu" "$@"; }
# The user's own processes and those of the ids set aside for the user.
processes() {
  local status id
  for status in /proc/[0-9]*/status; do
    grep -q '^State:.*zombie' "$status" 2>/dev/null && continue
    id=$(sed -n 's/^Uid:\t\([0-9]*\).*/\1/p' "$status" 2>/dev/null)
    if [[ $id == "$uid" || (-n $first && -n $id && $id -ge $first && $id -lt $((first + 65536))) ]]; then
      status=${status%/status}
      echo "${status#/proc/} $(tr '\0' ' ' <"$status/cmdline" 2>/dev/null)"
    fi
  done
}
no_processes() { [[ -z $(processes) ]]; }
nodes_are() { [[ $(fastgpu get nodes "$cluster" -o json | grep -c "\"state\": \"$1\"") == "$2" ]]; }
world_pid() { processes | sed -n 's/^\([0-9]*\) [^ ]*fastgpu-node-init hold .*/\1/p' | head -1; }

clean_up() {
  fastgpu delete cluster "$cluster" --yes --quiet >/dev/null 2>&1
  for pid in $(processes | cut -d' ' -f1); do kill -KILL "$pid" 2>/dev/null; done
  within 10 no_processes
  userdel --remove "$user" 2>/dev/null
  rm -rf "$work" "$home"
}
trap clean_up EXIT

check "doctor finds all that a user without root needs" 0 fastgpu doctor
if grep -q "without root *fail" "$work/out"; then
  cat "$work/out"
  exit 77
fi

check "an ordinary user makes a cluster" 0 fastgpu create cluster "$cluster" --nodes 2 --link-rate 1gbit
check "its nodes run programs" 0 fastgpu exec "$cluster" -- sh -c 'id -u; hostname; cat /proc/1/comm'
says "as root of their own" out "$cluster-1: 0"
says "under their own names" out "$cluster-1: $cluster-1"
check "a file of one node" 0 fastgpu exec "$cluster/0" -- sh -c 'echo x >/usr/only-there && chown 33:33 /usr/only-there'
expect "is not seen here" test ! -e /usr/only-there
check "nor on another node" 1 fastgpu exec "$cluster/1" -- test -e /usr/only-there
check "nodes reach each other by name" 0 fastgpu exec "$cluster/0" -- \
  timeout 5 bash -c "read line </dev/tcp/$cluster-1/22; echo \$line"
says "at their sshd" out "SSH-2.0"
check "what others may not read here is not read there" 1 fastgpu exec "$cluster/0" -- grep -q '^root:[^*]' /etc/shadow
check "nor is a key of the user's" 0 fastgpu exec "$cluster/0" -- sh -c "ls -A $home/.ssh /root"
check "root can become another user there" 0 fastgpu exec "$cluster/0" -- su nobody -s /bin/sh -c 'id -un'
says "by name" out ": nobody"
check "a terminal" 0 fastgpu exec "$cluster/0" -- script -qc tty /dev/null
says "is one of the node's" out "/dev/pts/"
check "a job spans both nodes" 0 fastgpu run job two -c "$cluster" -np 2 --npernode 1 -- hostname
says "the second too" out "$cluster-1"
id=$(fastgpu get clusters -o json | sed -n 's/.*"id": "\(.*\)",/\1/p')
expect "this machine sees no link of theirs" bash -c "! ip -o link | grep -q 'fg-\?$id'"

check "stop" 0 fastgpu stop cluster "$cluster"
expect "leaves no process" within 5 no_processes
expect "and both nodes stopped" nodes_are stopped 2
check "start" 0 fastgpu start cluster "$cluster"
check "brings the files back" 0 fastgpu exec "$cluster/0" -- stat -c %u /usr/only-there
says "with their owners" out "$cluster-0: 33"

kill -KILL "$(world_pid)"
expect "when the world is killed everything in it ends" within 10 no_processes
expect "and the cluster is stopped" nodes_are stopped 2
check "and can be started" 0 fastgpu start cluster "$cluster"
check "and is whole" 0 fastgpu exec "$cluster" -- true

check "delete" 0 fastgpu delete cluster "$cluster" --yes
expect "leaves no process" within 5 no_processes
expect "no mount" bash -c "! grep -q '$home' /proc/self/mountinfo"
expect "no file of a node" bash -c "! find '$home' ! -user '$user' | grep -q ."
expect "nor a folder" test "$(ls "$home/state/fastgpu/local")" = "$(printf 'id\nstorage')"

sum=$(md5sum </etc/hosts)
for pause in 0 0.05 0.1 0.2 0.4; do
  fastgpu create cluster "$cluster" --nodes 8 >/dev/null 2>"$work/err" &
  pid=$!
  within 10 grep -q creating "$work/err"
  sleep "$pause"
  for pid in $(processes | sed -n 's|^\([0-9]*\) [^ ]*/fastgpu create .*|\1|p'); do kill -INT "$pid" 2>/dev/null; done
  wait
  expect "Ctrl-C ${pause} s into create says that it was interrupted" grep -q "interrupted\|^next:" "$work/err"
  fastgpu delete cluster "$cluster" --yes --quiet >/dev/null 2>&1
done
expect "and leaves no process" within 5 no_processes
expect "nor a trace in this machine's own files" test "$sum" = "$(md5sum </etc/hosts)"

if [[ ${5-} != quick ]]; then
  as_user bash "$work/integration/cli/journey.sh" "$work/bin/fastgpu"
  code=$?
  expect "the journey ends with 0" test "$code" = 0
  expect "the journey leaves no process" within 5 no_processes
fi

covered() {  # In a mount namespace of its own, where a part of /proc is covered as containers do it.
  unshare --mount --propagation private bash -c 'mount --bind /dev/null /proc/meminfo && exec "$@"' - \
    runuser -u "$user" -- env -i PATH="$PATH" HOME="$home" XDG_STATE_HOME="$home/state" "$@"
}
check "where /proc is covered nothing is made" 1 covered "$work/bin/fastgpu" create cluster "$cluster" --nodes 1
says "and said what would help" err "systempaths=unconfined"
expect "in one line, too" test "$(wc -l <"$work/err")" = 1
expect "and no process is left there" within 5 no_processes

usermod --del-subuids "$(awk -F: -v u="$user" '$1 == u {print $2 "-" $2 + $3 - 1}' /etc/subuid)" "$user"
check "without subordinate ids nothing is made" 3 fastgpu create cluster "$cluster" --nodes 1
says "which is said" err "user $user has no 65536 ids in /etc/subuid"
says "with what to do" err "usermod --add-subuids"
expect "in one line" test "$(wc -l <"$work/err")" = 1
check "no cluster is known" 5 fastgpu describe cluster "$cluster"
check "doctor says it as well" 1 fastgpu doctor
says "with its remedy" err "usermod --add-subuids"
expect "and no process is left" within 5 no_processes
finish
