# shellcheck shell=bash
# For tests with mpirun, which have set $plugin: a folder for the test, and no variables of another job.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset RANK WORLD_SIZE MASTER_ADDR MASTER_PORT FASTGPU_COMM_MASTER_ADDR FASTGPU_COMM_MASTER_PORT FASTGPU_COMM_SECRET
# Open MPI names what it leaves there by the host and mpirun's process number, which tests share.
export TMPDIR=$work OMPI_MCA_btl_vader_backing_directory=$work
: "${plugin:?}"
export FASTGPU_COMM_TIMEOUT=30s FASTGPU_COMM_MPI_PLUGIN=$plugin

# run STATUS RANKS PROGRAM CASE: what it says is in $work/log
run() {
  local expected=$1 ranks=$2 status=0
  shift 2
  mpirun --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1 --timeout 60 -np "$ranks" "$@" \
    >"$work/log" 2>&1 || status=$?
  [ "$status" = "$expected" ] || { echo "$* with $ranks ranks: exit status $status:"; cat "$work/log"; exit 1; }
}
says() { grep -qF "$1" "$work/log" || { echo "not said: $1"; cat "$work/log"; exit 1; }; }
