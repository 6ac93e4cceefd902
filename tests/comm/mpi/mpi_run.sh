# shellcheck shell=bash
# For tests with mpirun, which have set $plugin: a folder for the test, and no variables of another job.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset RANK WORLD_SIZE MASTER_ADDR MASTER_PORT FASTGPU_COMM_MASTER_ADDR FASTGPU_COMM_MASTER_PORT FASTGPU_COMM_SECRET
# Open MPI names what it leaves there by the host and mpirun's process number, which tests share.
export TMPDIR=$work OMPI_MCA_btl_vader_backing_directory=$work
: "${plugin:?}"
export FASTGPU_COMM_TIMEOUT=30s FASTGPU_COMM_MPI_PLUGIN=$plugin

# run STATUS[|STATUS] RANKS PROGRAM CASE: what it says is in $work/log
run() {
  local expected=$1 ranks=$2 tries=3 status
  shift 2
  # On a busy machine mpirun of Open MPI 4.1 itself may crash in PMIx once ranks have failed, or hang, and then its own
  # timeout does nothing: that says nothing of the ranks.
  until
    status=0
    timeout --kill-after=5 80 mpirun --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1 --timeout 60 \
      -np "$ranks" "$@" >"$work/log" 2>&1 || status=$?
    tries=$((tries - 1))
    [ "$tries" = 0 ] || ! has_crashed "$status"
  do :; done
  [[ $status =~ ^($expected)$ ]] || { echo "$* with $ranks ranks: exit status $status:"; cat "$work/log"; exit 1; }
}
has_crashed() { [ "$1" = 124 ] || [ "$1" = 137 ] || { [ "$1" = 139 ] && grep -q '] mpirun(\|libpmix' "$work/log"; }; }
says() { grep -qF "$1" "$work/log" || { echo "not said: $1"; cat "$work/log"; exit 1; }; }
