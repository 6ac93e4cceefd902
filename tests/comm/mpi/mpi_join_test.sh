#!/usr/bin/env bash
# Ranks meet by MPI: mpi_join_test.sh WITHOUT WITH STATIC PLUGIN
set -euo pipefail
without=$1 with=$2 static=$3 plugin=$4
. "$(dirname "$0")/mpi_run.sh"

for ranks in 1 2 3 5; do
  run 0 $ranks "$without" once
  [ ! -s "$work/log" ] || { echo 'it is not silent:'; cat "$work/log"; exit 1; }
done
run 0 3 "$without" twice
# mpirun's status is that of the rank whose end it sees first: the one that fails, or one that has learnt of it.
run '3|1' 3 "$without" fails
# A rank that ends without a failure and without leaving the job: the others learn of it before MPI waits for them.
run 1 3 "$without" ends
says 'rank 2'
if grep -q 'sent nothing' "$work/log"; then echo 'it was noticed at the timeout only:'; cat "$work/log"; exit 1; fi
for ranks in 1 2 3; do
  run 0 $ranks "$with" finalized-first
  run 0 $ranks "$with" finalized-last
done
run 1 2 "$with" finalized
says 'the program has called MPI_Finalize already'
run 1 2 "$with" thread
says 'MPI_THREAD_SINGLE in another thread: join the job in that one'

FASTGPU_COMM_INTERFACE=lo run 0 3 "$without" once
FASTGPU_COMM_INTERFACE=no-such0 run 1 2 "$without" once
says "rank 0: FASTGPU_COMM_INTERFACE names 'no-such0', but this machine has no such interface"
FASTGPU_COMM_MPI_PLUGIN=$work/none.so run 1 2 "$without" once
says "loading the plugin for MPI: $work/none.so: cannot open shared object file"
FASTGPU_COMM_MPI_PLUGIN=libm.so.6 run 1 2 "$without" once
says "'libm.so.6' is not a plugin for MPI"
FASTGPU_COMM_MPI_PLUGIN='' run 1 2 "$without" once
says 'the plugin for MPI is not there: no '
says 'name its file by FASTGPU_COMM_MPI_PLUGIN'
run 2 2 "$static"
says 'this program is linked statically, and cannot load MPI; ranks meet without MPI where FASTGPU_COMM_MASTER_ADDR'
MASTER_ADDR=127.0.0.1 run 1 2 "$without" once
says 'FASTGPU_COMM_MASTER_PORT is not set'

# The plugin is found in the folder fastgpu beside the file that asks for it.
mkdir "$work/fastgpu"
cp "$without" "$work/program"
cp "$plugin" "$work/fastgpu/"
FASTGPU_COMM_MPI_PLUGIN='' run 0 2 "$work/program" once
