#!/usr/bin/env bash
# Whole collectives by MPI: mpi_collectives_test.sh WITHOUT WITH COLLECTIVES PLUGIN
set -euo pipefail
without=$1 with=$2 collectives=$3 plugin=$4
. "$(dirname "$0")/mpi_run.sh"

for ranks in 2 3 5; do
  run 0 $ranks "$collectives" all
done
export FASTGPU_COMM_COLLECTIVES=mpi
run 0 1 "$without" once
run 0 3 "$without" twice
run 1 2 "$with" finalized-last
says 'FASTGPU_COMM_COLLECTIVES=mpi needs MPI_THREAD_MULTIPLE, and the program has initialised MPI with MPI_THREAD_SINGLE'
FASTGPU_COMM_COLLECTIVES=theirs run 1 2 "$without" once
says "FASTGPU_COMM_COLLECTIVES is 'theirs', not one of ours, mpi"
FASTGPU_COMM_TIMEOUT=2s run 1 2 "$collectives" in-vain
says 'all_reduce number 0 (sum of 1 float32): MPI has not ended it within 2s: a rank is late, stuck, or in another call'
says '(rank 0 says so)'
