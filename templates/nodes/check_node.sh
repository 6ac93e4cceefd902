# Prints the facts that a check of this node needs, one a line: a word, then its values after tabs. Missing facts are left out.
# $1: a directory in place of / for the kernel's files, for tests; empty for /.
# shellcheck shell=sh
# shellcheck disable=SC2015   # `a && b || c` is meant: b is an assignment.
root=$1
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH
LC_ALL=C
export PATH LC_ALL
say() {
  out=$1
  shift
  for value; do out="$out	$value"; done
  printf '%s\n' "$out"
}
have() { command -v "$1" >/dev/null 2>&1; }
briefly() { if have timeout; then timeout 20 "$@"; else "$@"; fi; }
line_of() { { IFS= read -r line || [ -n "$line" ]; } 2>/dev/null <"$1" && printf '%s' "$line"; }
system() {
  say fastgpu-check 1
  say time "$(date +%s.%N)"
  say host "$(uname -n)"
  say kernel "$(uname -r)"
  if have getent; then say own_address "$(getent ahosts "$(uname -n)" | { read -r first _ && printf '%s' "$first"; })"; fi
  sed -n 's/^MemTotal: *\([0-9]*\).*/memory\t\1/p;s/^MemAvailable: *\([0-9]*\).*/available\t\1/p' "$root/proc/meminfo"
  sed -n 's/^Max locked memory *\([a-z0-9]*\) .*/memlock\t\1/p' /proc/self/limits
}
disks() {
  for place in "$HOME" /tmp /dev/shm; do
    [ -d "$place" ] || continue
    numbers=$(stat -f -c '%S	%b	%a	%c	%d' "$place" 2>/dev/null) || continue
    writable=no
    file=$(mktemp "$place/.fastgpu-check.XXXXXX" 2>/dev/null) && echo x >"$file" 2>/dev/null && writable=yes
    [ -n "$file" ] && rm -f "$file"
    say disk "$place" "$numbers" "$writable" "$(stat -c %d "$place" 2>/dev/null)"
  done
}
gpus() {
  for device in "$root"/sys/bus/pci/devices/*; do
    [ -r "$device/class" ] && [ -r "$device/vendor" ] || continue
    read -r vendor <"$device/vendor"
    [ "$vendor" = 0x10de ] || continue
    read -r class <"$device/class"
    case $class in
      0x0300* | 0x0302*) say gpu_on_bus "${device##*/}" ;;
      0x0680*) say nvswitch "${device##*/}" ;;
    esac
  done
  for folder in "$root"/usr/local/cuda-[0-9]*; do
    [ -d "$folder" ] && say cuda "${folder##*/cuda-}"
  done
  if have npu-smi; then
    briefly npu-smi info -l 2>/dev/null | sed -n 's/.*NPU ID *: *\([0-9]*\).*/npu\t\1/p'
  fi
  have nvidia-smi || return 0
  said=$(briefly nvidia-smi --query-gpu=index,driver_version,memory.total,name --format=csv,noheader,nounits 2>&1)
  code=$?
  if [ "$code" = 0 ]; then
    printf '%s\n' "$said" | sed 's/, */\t/g;s/^/gpu\t/'
  else
    say gpu_failure "$code" "$(printf '%s\n' "$said" | tail -n 1)"
    return 0
  fi
  briefly nvidia-smi --query-gpu=index,ecc.errors.uncorrected.volatile.total --format=csv,noheader,nounits 2>/dev/null |
    sed -n 's/^ *\([0-9]*\), *\([0-9]*\)$/ecc\t\1\t\2/p'
  briefly nvidia-smi --query-gpu=index,remapped_rows.pending,remapped_rows.failure --format=csv,noheader,nounits 2>/dev/null |
    sed -n 's/^ *\([0-9]*\), *\([A-Za-z0-9]*\), *\([A-Za-z0-9]*\)$/remapped\t\1\t\2\t\3/p'
  briefly nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv,noheader,nounits 2>/dev/null |
    sed -n 's/^ *\([0-9]*\), *\([0-9]*\), *\(.*\)$/gpu_process\t\1\t\2\t\3/p' | head -n 64
  if have nv-fabricmanager; then
    state=stopped
    if have systemctl && systemctl is-active --quiet nvidia-fabricmanager 2>/dev/null; then state=running; fi
    say fabric_manager "$state" "$(briefly nv-fabricmanager --version 2>/dev/null | sed -n 's/[^0-9]*\([0-9][0-9.]*\).*/\1/p' | head -n 1)"
  fi
}
kernel_log() {
  have dmesg || return 0
  log=$(briefly dmesg 2>/dev/null) || log=$(have sudo && briefly sudo -n dmesg 2>/dev/null) || return 0
  printf '%s\n' "$log" | sed -n 's/.*NVRM: Xid (\([^)]*\)): *\([0-9]*\)\(.*\)/xid\t\2\t\1\t\3/p' | tail -n 32
}
rdma() {
  for port in "$root"/sys/class/infiniband/*/ports/*; do
    [ -r "$port/state" ] || continue
    device=${port%/ports/*}
    sent=$(line_of "$port/counters/port_xmit_data") && [ -n "$sent" ] && sent=$((sent * 4)) || sent=$(line_of "$port/hw_counters/tx_bytes")
    say rdma "${device##*/}" "${port##*/}" "$(line_of "$port/state")" "$(line_of "$port/rate")" "$(line_of "$port/link_layer")" "$sent"
  done
}
# runs JOB HOME: succeeds if the job's supervisor is alive, which has a lock on a file, or its batch script has not ended.
runs() {
  folder=$2/.fastgpu/jobs/$1
  if [ -e "$folder/batch" ] && [ ! -e "$folder/batch-end" ]; then return 0; fi
  inode=$(stat -c %i "$folder/lock" 2>/dev/null) && grep -q "FLOCK .*:$inode " /proc/locks
}
leftovers() {
  seen=
  # Only the variable itself counts: settings of mpirun in the same environment have it among the words for daemons.
  grep -a -z -o '^FASTGPU_JOB_ID=[a-z0-9.-]*' /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | head -n 256 | while IFS=: read -r file mark; do
    process=${file%/environ}
    job=${mark#*=}
    say process "${process#/proc/}" "$job" "$(line_of "$process/comm")"
    case " $seen " in *" $job "*) continue ;; esac
    seen="$seen $job"
    home=$(tr '\0' '\n' 2>/dev/null <"$file" | sed -n 's/^HOME=//p' | head -n 1)
    if runs "$job" "${home:-$HOME}"; then say job_runs "$job"; fi
  done
  for file in /dev/shm/vader_segment.* /dev/shm/nccl-* /dev/shm/psm2_shm.* /dev/shm/torch_* /dev/shm/fastgpu*; do
    [ -f "$file" ] && say shared_memory "$file" "$(stat -c %s "$file" 2>/dev/null)"
  done | head -n 256
}
{
  system
  disks
  gpus
  kernel_log
  rdma
  leftovers
  say end
} </dev/null
