# Prints the facts of this node, one a line: a word, then its values after tabs. Any POSIX shell; missing facts are left out.
# shellcheck shell=sh
# The arguments are packages whose versions in the repositories are of interest.
say() {
  out=$1
  shift
  for value; do out="$out	$value"; done
  printf '%s\n' "$out"
}
have() { command -v "$1" >/dev/null 2>&1; }
briefly() { if have timeout; then timeout 20 "$@"; else "$@"; fi; }
first_line() { { IFS= read -r line || [ -n "$line" ]; } <"$1" 2>/dev/null && printf '%s' "$line"; }

system() {
  say host "$(uname -n)"
  say kernel "$(uname -r)"
  say arch "$(uname -m)"
  say user "$(id -un)"
  say home "$HOME"
  say boot "$(first_line /proc/sys/kernel/random/boot_id)"
  for file in /etc/os-release /usr/lib/os-release; do
    [ -r "$file" ] || continue
    (
      # shellcheck source=/dev/null
      . "$file"
      say os "$ID" "$VERSION_ID" "$VERSION_CODENAME" "$PRETTY_NAME" "$ID_LIKE"
    )
    break
  done
  libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || libc=$(ldd --version 2>&1 | sed -n 's/^musl.*/musl/p;s/^Version /musl /p' | tail -n 1)
  say libc "$libc"
  say cores "$(getconf _NPROCESSORS_ONLN 2>/dev/null)"
  say memory "$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)"
  for file in /sys/firmware/efi/efivars/SecureBoot-*; do
    [ -r "$file" ] && say secure_boot "$(od -An -t u1 -j 4 -N 1 "$file" | tr -d ' ')"
  done
  [ -e /run/reboot-required ] && say reboot_wanted 1
  if [ "$(id -u)" = 0 ]; then
    say sudo not_needed
  elif ! have sudo; then
    say sudo none
  elif sudo_said=$(LC_ALL=C sudo -n true 2>&1); then
    say sudo free
  elif [ "${sudo_said#*must have a tty}" != "$sudo_said" ]; then
    say sudo terminal
  else
    say sudo password
  fi
}

devices() {
  for device in /sys/bus/pci/devices/*; do
    [ -r "$device/class" ] || continue
    class=$(first_line "$device/class")
    case $class in
      0x02* | 0x03* | 0x0680* | 0x12*) say pci "${device##*/}" "${class#0x}" "$(first_line "$device/vendor")" "$(first_line "$device/device")" ;;
    esac
  done
  if have lspci; then
    briefly lspci -Dn 2>/dev/null | while read -r slot class pair rest; do
      say pci "$slot" "${class%:}00" "0x${pair%:*}" "0x${pair#*:}"
    done
  fi
  [ -r /proc/driver/nvidia/version ] && say nvidia_loaded "$(first_line /proc/driver/nvidia/version)"
  for file in /proc/driver/nvidia/gpus/*/information; do
    [ -r "$file" ] && say nvidia_proc "$(sed -n 's/^Model:[[:space:]]*//p' "$file")"
  done
  if have nvidia-smi; then
    briefly nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader,nounits 2>/dev/null |
      while IFS= read -r line; do say nvidia_smi "$line"; done
  fi
  if have modinfo; then say nvidia_module "$(modinfo -F version nvidia 2>/dev/null)" "$(modinfo -F license nvidia 2>/dev/null)"; fi
  if have npu-smi; then
    briefly npu-smi info -l 2>/dev/null | sed -n 's/.*NPU ID *: *//p' | while read -r id; do say npu "$id"; done
  fi
  for folder in /sys/class/infiniband/*; do
    [ -e "$folder" ] || continue
    driver=$(readlink "$folder/device/driver")
    say rdma "${folder##*/}" "${driver##*/}"
  done
  for file in /dev/infiniband/uverbs* /dev/infiniband/rdma_cm; do
    [ -e "$file" ] && say rdma_file "${file##*/}" "$(stat -c %a "$file" 2>/dev/null)"
  done
  [ -r /proc/modules ] && while read -r module rest; do
    case $module in
      nvidia | nvidia_* | nouveau | gdrdrv | efa | erdma | mlx5_core | mlx5_ib) say module "$module" ;;
    esac
  done </proc/modules
}

software() {
  for folder in /usr/local/cuda-[0-9]*; do
    [ -d "$folder" ] && say cuda "${folder##*/cuda-}"
  done
  for file in /usr/lib/*/libnccl.so.2.* /usr/lib64/libnccl.so.2.* /usr/local/lib/libnccl.so.2.* /usr/local/cuda/lib64/libnccl.so.2.*; do
    [ -e "$file" ] && say nccl "${file##*/libnccl.so.}"
  done
  # The last one counts; from 8.5 on it is in `cann`.
  for folder in "$HOME/Ascend/ascend-toolkit/latest" "$HOME/Ascend/cann" /usr/local/Ascend/ascend-toolkit/latest /usr/local/Ascend/cann "${ASCEND_TOOLKIT_HOME:-/none}"; do
    for file in "$folder"/*-linux/ascend_toolkit_install.info; do
      [ -r "$file" ] && say cann "$(sed -n 's/^version=//p' "$file")"
    done
  done
  for file in "$HOME"/Ascend/cann*/*-linux/ascend_toolkit_install.info "$HOME"/Ascend/ascend-toolkit/*/*-linux/ascend_toolkit_install.info \
    /usr/local/Ascend/cann*/*-linux/ascend_toolkit_install.info /usr/local/Ascend/ascend-toolkit/*/*-linux/ascend_toolkit_install.info; do
    [ -r "$file" ] && say cann_there "$(sed -n 's/^version=//p' "$file")"
  done
  [ -r /opt/amazon/efa_installed_packages ] && say efa "$(sed -n 's/^# EFA installer version: *//p' /opt/amazon/efa_installed_packages)"
  seen=
  for path in "$(command -v python3)" /usr/bin/python3.[0-9] /usr/bin/python3.[0-9][0-9] /usr/local/bin/python3.[0-9] /usr/local/bin/python3.[0-9][0-9]; do
    [ -x "$path" ] || continue
    version=$(briefly "$path" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) || continue
    case " $seen " in *" $version "*) continue ;; esac
    seen="$seen $version"
    say python "$path" "$version"
  done
  for place in / /opt /tmp /var "$HOME"; do
    [ -d "$place" ] || continue
    if numbers=$(stat -f -c '%T	%S	%b	%a' "$place" 2>/dev/null); then
      say disk "$place" "$numbers"
    else
      say disk "$place" "$(df -Pk "$place" | awk 'NR == 2 { printf "unknown\t1024\t%d\t%d", $2, $4 }')"
    fi
  done
}

dpkg_is_unfinished() { [ -n "$(ls -A /var/lib/dpkg/updates 2>/dev/null)$(dpkg --audit 2>/dev/null)" ]; }

# Another process is installing: no installation was cut off.
dpkg_is_locked() {
  for file in /var/lib/dpkg/lock /var/lib/dpkg/lock-frontend; do
    inode=$(stat -c %i "$file" 2>/dev/null) && grep -q ":$inode " /proc/locks && return
  done
  return 1
}

packages() {
  kinds='nvidia-* libnvidia-* cuda-* libcudnn* cudnn* libnccl* gdrcopy* gdrdrv* libgdrapi* nvlsm* linux-headers-* kernel-devel* efa* erdma* datacenter-gpu-manager* rdma-core ibverbs-providers libibverbs libfabric libfabric1'
  set -f
  if have apt-get; then
    say packages apt
    # shellcheck disable=SC2086  # Each pattern is a word.
    dpkg-query -W -f '${db:Status-Status}\t${Package}\t${Version}\n' $kinds "$@" 2>/dev/null | while IFS='	' read -r state name version; do
      [ "$state" = installed ] && say installed "$name" "$version"
    done
    dpkg_is_unfinished && ! dpkg_is_locked && dpkg_is_unfinished && say packages_broken 1  # Again: they may have just ended.
    if [ $# -gt 0 ]; then
      apt-cache madison "$@" 2>/dev/null | while read -r name _ version _; do say candidate "$name" "$version"; done
    fi
  elif have dnf || have yum; then
    if have dnf; then say packages dnf; else say packages yum; fi
    # shellcheck disable=SC2086  # Each pattern is a word.
    rpm -qa --qf '%{NAME}\t%{VERSION}-%{RELEASE}\n' $kinds "$@" 2>/dev/null | while IFS='	' read -r name version; do say installed "$name" "$version"; done
    if [ $# -gt 0 ] && have dnf; then
      # Includes the streams of a module without an enabled one, as for drivers.
      dnf -q -C repoquery --disable-modular-filtering --disablerepo='*' --enablerepo='fastgpu-*' --qf '%{name} %{version}-%{release}\n' "$@" 2>/dev/null |
        while read -r name version; do [ -n "$name" ] && say candidate "$name" "$version"; done
    fi
  elif have zypper; then
    say packages zypper
  fi
  set +f
  for file in /etc/apt/sources.list.d/fastgpu-* /etc/apt/preferences.d/fastgpu-* /etc/apt/apt.conf.d/*fastgpu-* /usr/share/keyrings/fastgpu-* \
    /etc/yum.repos.d/fastgpu-* /etc/pki/rpm-gpg/fastgpu-* /etc/dnf/fastgpu-* /etc/systemd/system/dnf*.service.d/fastgpu-* /etc/modules-load.d/fastgpu-* /etc/modprobe.d/fastgpu-* \
    /etc/security/limits.d/*fastgpu-* /etc/udev/rules.d/*fastgpu-* /var/lib/fastgpu/cann-*; do
    [ -f "$file" ] && say file "$file" "$(sha256sum <"$file" | cut -d ' ' -f 1)"
  done
  if have systemctl; then
    for service in nvidia-fabricmanager nvidia-persistenced; do
      systemctl is-active --quiet "$service" 2>/dev/null && say service "$service"
    done
  fi
}

everything() {
  say fastgpu-facts 1
  system
  devices
  software
  packages "$@"
  say end
}
LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
export LC_ALL PATH
everything "$@" </dev/null
