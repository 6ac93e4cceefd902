# Formats and mounts the data disk at the first boot, and mounts it at later ones.
# $1: its size in GiB, $2: the mount point.
# The label identifies our file system, so that after an interrupted boot the next one continues. The script must not depend on
# device names: they differ from cloud to cloud, and from boot to boot.
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2046,SC2086,SC2116,SC2005   # Counted tries; lines of names joined by blanks.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
gib=$1 bytes=$(($1 * 1073741824)) path=$2 label=fastgpu-data said=/run/fastgpu-data-disk
rm -f "$said"
fail() { printf '%s\n' "$1" > "$said"; printf '%s\n' "$1" >&2; exit 1; }
run() { out=$("$@" 2>&1 </dev/null) || fail "$1 ended with $?: $(printf '%s\n' "$out" | tail -n 1)"; }
is_listed() { awk -v path="$path" '$1 !~ /^#/ && $2 == path { found = 1 } END { exit !found }' "$1"; }
disks() { lsblk -dbnrpo NAME,SIZE,TYPE | awk -v bytes="$bytes" '$2 == bytes && $3 == "disk" { print $1 }'; }
is_blank() { signs=$(wipefs -n "$1" 2>/dev/null) && [ -z "$signs" ] && [ "$(lsblk -nro NAME "$1" | wc -l)" -eq 1 ]; }
blank_disks() { disks | while read -r name; do if is_blank "$name"; then echo "$name"; fi; done; }
if ! is_listed /etc/fstab; then
  for try in $(seq 30); do
    disk=$(blkid -c /dev/null -t LABEL="$label" -o device | head -n 1)
    [ -z "$disk" ] || break
    disk=$(blank_disks)
    case $disk in
      *[!a-zA-Z0-9/_.-]*) fail "several blank disks have $gib GiB: $(echo $disk)" ;;
      ?*) run mkfs.ext4 -q -L "$label" "$disk"; break ;;
    esac
    sleep 1
  done
  others=$(echo $(disks))
  [ -n "$disk" ] || fail "there is no blank disk of $gib GiB${others:+; of that size, and not blank: $others}"
  uuid=$(blkid -c /dev/null -o value -s UUID "$disk")
  [ -n "$uuid" ] || fail "the file system on $disk has no UUID"
  run mkdir -p "$path"
  printf '\nUUID=%s %s ext4 defaults,nofail,x-fastgpu 0 2\n' "$uuid" "$path" >> /etc/fstab
  run mount "$path"
  run chmod 1777 "$path"
fi
is_listed /proc/self/mounts || run mount "$path"
