#!/usr/bin/env bash
# Messages by MPI: mpi_transport_test.sh WITHOUT WITH PLUGIN
set -euo pipefail
without=$1 with=$2 plugin=$3
. "$(dirname "$0")/mpi_run.sh"
export FASTGPU_COMM_TRANSPORT=mpi FASTGPU_COMM_SHARED_MEMORY=0

for ranks in 1 2 3 5; do
  run 0 $ranks "$without" once
  [ ! -s "$work/log" ] || { echo 'it is not silent:'; cat "$work/log"; exit 1; }
done
run 0 3 "$without" twice
FASTGPU_COMM_COLLECTIVES=mpi run 0 3 "$without" twice
run 3 3 "$without" fails
run 1 2 "$with" finalized-last
says 'FASTGPU_COMM_TRANSPORT=mpi needs MPI_THREAD_MULTIPLE, and the program has initialised MPI with MPI_THREAD_SINGLE'
FASTGPU_COMM_TRANSPORT=pigeon run 1 2 "$without" once
says "FASTGPU_COMM_TRANSPORT is 'pigeon', not one of auto, tcp, fabric, hybrid, mpi"
run 1 2 sh -c '[ $OMPI_COMM_WORLD_RANK = 0 ] || export FASTGPU_COMM_TRANSPORT=tcp; exec "$0" once' "$without"
says 'has another FASTGPU_COMM_TRANSPORT: all ranks need the same'
