#!/bin/bash
# The journey of a user on a real cluster of this machine, from creation to deletion.
# Usage: journey.sh PATH-OF-FASTGPU. Exit code 77: this machine cannot carry it.
set -u
fastgpu=$(realpath "$1")
[[ $(id -u) == 0 || -n ${FASTGPU_ROOTLESS-} ]] || exit 77
for program in sshd mpirun ip; do
  PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null || exit 77
done

work=$(mktemp -d)
. "$(dirname "$0")/../../support/checks.sh"
export FASTGPU_STATE_DIR=$work/state NO_COLOR=1
cluster=Cli.$RANDOM  # Its nodes' own host names have neither capitals nor dots.
host_form=$(tr A-Z. a-z- <<<"$cluster")

clean_up() {
  "$fastgpu" delete cluster "$cluster" --yes --quiet >/dev/null 2>&1
  "$fastgpu" gc >/dev/null 2>&1
  rm -rf "$work"
}
trap clean_up EXIT

no_job_processes() { ! "$fastgpu" exec "$cluster" -- pgrep -x sleep; }
no_link() { ! ip -o link | grep -q "$id"; }

check "a plan changes nothing" 0 "$fastgpu" create cluster "$cluster" --nodes 2 --dry-run
check "no cluster after a plan" 5 "$fastgpu" describe cluster "$cluster"
check "a cluster is made" 0 "$fastgpu" create cluster "$cluster" --nodes 2
says "the hints name the way out" err "fastgpu delete cluster $cluster"
check "making it again finds it as it is" 0 "$fastgpu" create cluster "$cluster" --nodes 2
check "the same name with another size is a conflict" 6 "$fastgpu" create cluster "$cluster" --nodes 3
check "get shows it" 0 "$fastgpu" get clusters -o json
says "as running" out '"state": "running"'
id=$(sed -n 's/.*"id": "\(.*\)",/\1/p' "$work/out" | head -1)
expect "with its identity" test ${#id} = 8
check "names alone" 0 "$fastgpu" get nodes "$cluster" -o name
says "are node names" out "$cluster-1"

check "exec runs on all nodes" 0 "$fastgpu" exec "$cluster" -- hostname
says "under the node's name" out "$cluster-1: $host_form-1"
check "exec -b folds" 0 "$fastgpu" exec "$cluster" -b -- echo same
says "with a range" out "$cluster-[0-1] (2)"
check "the highest exit code counts" 4 "$fastgpu" exec "$cluster" -- sh -c 'n=$(hostname); exit $((3 + ${n##*-}))'
check "a program that is missing is 127" 127 "$fastgpu" exec "$cluster" -- no-such-program
check "a node that is not there is not found" 5 "$fastgpu" exec "$cluster/7" -- true

nasty=('a  b' '$HOME;' "it's \"q\"" $'new\nline' 'ünï' '' '*')
for how in exec ssh; do
  target=$cluster/0
  check "nasty arguments through $how" 0 "$fastgpu" $how "$target" -o json -- printf '<%s>' "${nasty[@]}"
done
printf '<%s>' "${nasty[@]}" >"$work/wanted"
expect "arrive unchanged through ssh" cmp "$work/out" "$work/wanted"
check "nasty arguments through run job" 0 "$fastgpu" run job args -c "$cluster" -np 1 -- printf '<%s>' "${nasty[@]}"
check "its log" 0 "$fastgpu" logs args --rank 0
expect "has them unchanged" cmp "$work/out" "$work/wanted"

mkdir "$work/tree"
head -c 3000000 /dev/urandom >"$work/tree/na me"
chmod 640 "$work/tree/na me"
check "cp sends a tree to all nodes" 0 "$fastgpu" cp "$work/tree" "$cluster:/root/sent"
check "cp brings it back" 0 "$fastgpu" cp "$cluster/1:/root/sent" "$work/back"
expect "unchanged" diff -r "$work/tree" "$work/back"
expect "with its mode" test "$(stat -c %a "$work/back/na me")" = 640
check "a source that is not there is not found" 5 "$fastgpu" cp "$work/nothing" "$cluster:/root"

check "a job runs" 0 "$fastgpu" run job hello -c "$cluster" -np 2 -- sh -c 'echo from $(hostname)'
says "with ranks on both nodes" out "[1] from"
check "a job's exit code is its program's" 3 "$fastgpu" run job three -c "$cluster" -np 2 -- sh -c 'exit 3'
says "and the rank is named" err "rank "
check "a signal is 128 and its number" 139 "$fastgpu" run job segv -c "$cluster" -np 1 -- sh -c 'kill -SEGV $$'
check "a program on no node" 127 "$fastgpu" run job none -c "$cluster" -np 2 -- no-such-program
check "a long line" 0 "$fastgpu" run job line -c "$cluster" -np 1 -- sh -c 'head -c 10000000 /dev/zero | tr "\0" x'
expect "comes whole" test "$(wc -c <"$work/out")" = 10000005
check "a detached job" 0 "$fastgpu" run job away -c "$cluster" -np 1 --detach -- sh -c 'sleep 1; exit 5'
check "can be waited for" 5 "$fastgpu" wait job away
check "a long job" 0 "$fastgpu" run job long -c "$cluster" -np 2 --detach -- sleep 1000
check "is cancelled" 0 "$fastgpu" cancel job long
expect "and its processes are gone" within 5 no_job_processes
check "as the books say" 130 "$fastgpu" wait job long

"$fastgpu" run job stopped -c "$cluster" -np 2 -- sleep 1000 >"$work/out" 2>"$work/err" &
pid=$!
expect "a job is started" within 20 "$fastgpu" exec "$cluster" -- pgrep -x sleep
kill -INT $pid
expect "Ctrl-C ends it within five seconds" within 5 bash -c "! kill -0 $pid"
wait $pid
expect "with 130" test $? = 130
expect "and no rank is left" within 5 no_job_processes

"$fastgpu" run job killed -c "$cluster" -np 2 -- sleep 1000 >"$work/out" 2>"$work/err" &
pid=$!
expect "another job is started" within 20 "$fastgpu" exec "$cluster" -- pgrep -x sleep
kill -KILL $pid
wait $pid 2>/dev/null
sleep 2  # A job that is only just written down is left alone.
check "after kill -9 gc ends the job" 0 "$fastgpu" gc
says "by name" out "abandoned job killed-1"
expect "and no rank is left" within 5 no_job_processes

"$fastgpu" get clusters -o json | head -c 0
codes="${PIPESTATUS[*]}"
expect "a reader that goes away is no failure" test "$codes" = "0 0"
"$fastgpu" exec "$cluster" -- yes 2>"$work/err" | head -1 >/dev/null
codes="${PIPESTATUS[*]}"
expect "and ends what writes for ever" test "$codes" = "141 0"
expect "silently" test ! -s "$work/err"
expect "stdin may be closed, and stdout if nothing is said there" \
    bash -c "'$fastgpu' exec '$cluster' -- true <&- >&-"
check "a closed stdout is an error for a command that says something" 4 \
    bash -c "'$fastgpu' get clusters >&-"
"$fastgpu" get clusters -o json >/dev/full 2>"$work/err"
expect "a full disk is an error" test $? = 4

check "a file on a node" 0 "$fastgpu" exec "$cluster/0" -- sh -c 'echo kept > /root/kept'
check "deleting without a terminal asks for --yes" 2 "$fastgpu" delete cluster "$cluster"
check "stop" 0 "$fastgpu" stop cluster "$cluster"
check "a stopped node is a conflict" 6 "$fastgpu" exec "$cluster" -- true
check "start" 0 "$fastgpu" start cluster "$cluster"
check "the file" 0 "$fastgpu" exec "$cluster/0" -- cat /root/kept
says "is there again" out kept
check "scale up" 0 "$fastgpu" scale cluster "$cluster" --nodes 3
check "the new node works" 0 "$fastgpu" exec "$cluster/2" -- true
check "scale down asks for --yes" 2 "$fastgpu" scale cluster "$cluster" --nodes 1
check "scale down" 0 "$fastgpu" scale cluster "$cluster" --nodes 1 --yes
check "rename" 0 "$fastgpu" rename cluster "$cluster" "$cluster-b"
check "the new name answers" 0 "$fastgpu" exec "$cluster-b" -- true
check "and back" 0 "$fastgpu" rename cluster "$cluster-b" "$cluster"

other=$cluster-x
"$fastgpu" create cluster "$other" --nodes 8 >"$work/out" 2>"$work/err" &
pid=$!
within 10 grep -q creating "$work/err"
kill -INT $pid
wait $pid
code=$?
if [[ $code == 0 ]]; then  # It was done before the signal came.
  "$fastgpu" delete cluster "$other" --yes --quiet
else
  expect "Ctrl-C on create ends with 130" test $code = 130
fi
check "and leaves no cluster" 5 "$fastgpu" describe cluster "$other"

check "delete" 0 "$fastgpu" delete cluster "$cluster" --yes
check "gc finds nothing" 0 "$fastgpu" gc -o json
says "to clean up" out '"settled": []'
expect "no link is left" no_link
expect "no mount is left" bash -c "! grep -q '$work' /proc/self/mountinfo"
expect "no process is left" bash -c "! grep -lqs 'HOSTNAME=$host_form' /proc/[0-9]*/environ"
finish
