#!/usr/bin/env bash
# The demonstration behind `./dev demo`: demo.sh BUILD_DIR
# Makes a cluster of two nodes on this machine, trains the digits model there on one rank and on two, compares
# the results, and deletes the cluster in any case.
set -euo pipefail
build=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
cluster='fastgpu-demo'
fastgpu=$build/cli/fastgpu
work=$(mktemp -d)

say() { printf '==> %s\n' "$*"; }

finish() {
  local status=$?
  trap - EXIT
  if [ -n "$("$fastgpu" get clusters "$cluster" -o name 2>/dev/null)" ]; then
    say "deleting the cluster"
    "$fastgpu" delete cluster "$cluster" --yes 2>"$work/delete.log" || { cat "$work/delete.log" >&2; status=1; }
  fi
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# train NAME RANKS: runs the job and brings its report here.
train() {
  "$fastgpu" run job "$1" --cluster "$cluster" -np "$2" --sync "$work/digits" -e LD_LIBRARY_PATH=. -- \
    ./fastgpu-digits --data digits.csv --global-batch 64 --epochs 30 --report "/root/$1.json"
  "$fastgpu" cp "$cluster/0:/root/$1.json" "$work/$1.json" 2>"$work/cp.log" || { cat "$work/cp.log" >&2; exit 1; }
}

mkdir "$work/digits"
cp -L "$build/comm/examples/digits/fastgpu-digits" "$build/comm/libfastgpu_comm.so.0" "$here/data/digits.csv" "$work/digits/"

if [ -n "$("$fastgpu" get clusters "$cluster" -o name 2>/dev/null)" ]; then
  say "deleting what an earlier demo left"
  "$fastgpu" delete cluster "$cluster" --yes
fi
say "making a cluster of 2 nodes on this machine"
"$fastgpu" create cluster "$cluster" --nodes 2
say "training on 1 rank, to compare with"
train baseline 1
say "training on 2 ranks, one on each node, gradients exchanged by libfastgpu_comm"
train digits 2
say "comparing"
python3 "$here/compare.py" "$work/baseline.json" "$work/digits.json"
