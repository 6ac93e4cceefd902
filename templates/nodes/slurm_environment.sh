# The beginning of each script that calls Slurm's programs. By variables of the login, such as SBATCH_PARTITION, SCANCEL_STATE or
# SQUEUE_FORMAT, these programs would do or print something else than the scripts ask for: eval this text to remove
# them. Those that say where Slurm is stay, and the plugin for MPI.
# shellcheck shell=sh disable=SC2034
forget_slurm_options='
  set -f
  for name in $(export -p); do  # Words of values are among them.
    name=${name%%=*}
    case $name in
      *[!A-Za-z0-9_]*) ;;
      SLURM_CONF | SLURM_CONF_SERVER | SLURM_CLUSTERS | SLURM_JWT | SLURM_SACK_* | SLURM_MPI_TYPE) ;;
      SLURM_* | SLURMD_* | SALLOC_* | SBATCH_* | SRUN_* | SQUEUE_* | SINFO_* | SACCT_* | SCANCEL_* | SCONTROL_*) unset "$name" ;;
    esac
  done
  set +f
'
