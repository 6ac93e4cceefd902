# Hides the secrets of a node in its memory while an image is made of its disk, and restores them.
# $1: look, hide or restore; $2 of look: the path of the environment.
# The script may be killed anywhere and be run again: every file that is mounted from memory is hidden. A locked file keeps its
# place on the disk as an empty file, so that the guard that holds the lock stays visible.
# shellcheck shell=sh
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
memory=/run/fastgpu-bake
fail() { printf '%s\n' "$1" >&2; exit 1; }
there() { if [ -e "$1" ]; then readlink -f -- "$1"; fi; }
homes() { awk -F: '$6 ~ /^\/./ { print $6 }' /etc/passwd | sort -u; }
secrets() {
  homes | while IFS= read -r home; do
    for name in .ssh .bash_history .zsh_history .python_history; do there "$home/$name"; done
    [ -d "$home/.fastgpu" ] || continue
    for each in "$home"/.fastgpu/*; do
      case $each in */bin | */envs) ;; *) there "$each" ;; esac
    done
  done
  for each in /etc/ssh/ssh_host_* /etc/machine-id /var/lib/dbus/machine-id /etc/fstab \
    /etc/systemd/system/fastgpu-guard.service /var/lib/cloud /var/log/cloud-init*; do
    there "$each"
  done
}
hidden() { awk '$1 == "fastgpu-bake" && $2 !~ /^\/run\/fastgpu-bake/ { print $2 }' /proc/self/mounts; }
is_mounted() { awk -v place="$1" '$2 == place { n = 1 } END { exit !n }' /proc/self/mounts; }
is_hidden() { hidden | grep -qxF "$1"; }
# What is beneath $path: seen by way of its folder, in which nothing is mounted.
see_beneath() {
  mkdir -p "$memory/below"
  while is_mounted "$memory/below"; do umount "$memory/below"; done
  mount --bind "$(dirname "$path")" "$memory/below"
  beneath=$memory/below/$(basename "$path")
}
overwrite() {
  if [ "$(stat -c %s "$1")" -le 1048576 ] && [ -s "$1" ]; then shred -f -n 1 "$1"; fi
}
clear_beneath() {
  if [ ! -d "$beneath" ]; then
    overwrite "$beneath"
    if [ "$path" = /etc/fstab ]; then awk '$4 !~ /(^|,)x-fastgpu(,|$)/' "$path" > "$beneath"; else : > "$beneath"; fi
    return
  fi
  find "$beneath" -type f ! -name lock | while IFS= read -r file; do overwrite "$file"; done
  find "$beneath" -mindepth 1 -maxdepth 1 ! -name lock -exec rm -rf {} +
}
hide() {
  kept=$memory/kept$path
  see_beneath
  if ! is_hidden "$path"; then
    rm -rf "$kept"
    mkdir -p "$(dirname "$kept")"
    cp -a "$path" "$kept"
    if [ -f "$kept/lock" ]; then mount --bind "$beneath/lock" "$kept/lock"; fi
    mount --rbind "$kept" "$path"
  fi
  clear_beneath
  umount "$memory/below"
}
restore_secrets() {
  see_beneath
  if [ -d "$path" ]; then
    find "$beneath" -mindepth 1 -maxdepth 1 ! -name lock -exec rm -rf {} +
    find "$path" -mindepth 1 -maxdepth 1 ! -name lock -exec cp -a {} "$beneath/" \;
  else
    cp -a "$path" "$beneath"
  fi
  umount "$memory/below"
  umount -R "$path" 2>/dev/null || umount -R -l "$path"
}
mount_memory() {
  if grep -q "^fastgpu-bake $memory " /proc/self/mounts; then return; fi
  mkdir -p "$memory"
  if mount -t tmpfs -o noswap,mode=700,size=50% fastgpu-bake "$memory" 2>/dev/null; then return; fi
  [ "$(wc -l < /proc/swaps)" -le 1 ] || fail "it swaps its memory to a disk: 'swapoff -a' there first"
  mount -t tmpfs -o mode=700,size=50% fastgpu-bake "$memory"
}
at_work() { pgrep -f '/\.fastgpu/bin/[^ ]+ (job-start|rank) ' || :; }

case $1 in
look)
  command -v shred >/dev/null || fail "it has no shred (coreutils)"
  printf 'mount %s\n' "$(stat -c %m "$2")"
  if [ -r /sys/module/nvidia/version ]; then printf 'driver %s\n' "$(cat /sys/module/nvidia/version)"; fi
  at_work | while read -r pid; do printf 'at-work %s\n' "$pid"; done
  hidden | while read -r path; do printf 'hidden yes\n'; done
  ;;
hide)
  mount_memory
  need=$(secrets | sort -u | while IFS= read -r path; do du -sk "$path"; done | awk '{ n += $1 } END { print n + 0 }')
  room=$(awk '/^MemAvailable:/ { print int($2 / 4) }' /proc/meminfo)
  [ "$need" -le "$room" ] || fail "$need KiB have to lie in memory, and a quarter of what is free is $room KiB: remove logs of jobs there"
  secrets | sort -u | while IFS= read -r path; do hide; done
  sync
  fstrim / 2>/dev/null || :
  ;;
restore)
  hidden | sort | while IFS= read -r path; do restore_secrets; done
  while is_mounted "$memory"; do umount -R "$memory" 2>/dev/null || umount -R -l "$memory"; done
  if [ -d "$memory" ]; then rmdir "$memory"; fi
  sync
  ;;
esac
