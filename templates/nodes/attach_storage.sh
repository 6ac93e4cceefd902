# Waits for the data disk, and mounts the NFS exports of the cluster now and at each boot.
# $1: the path of the data disk, or empty; the lines for /etc/fstab follow.
# The script may be killed anywhere and be run again: it recognises finished steps. A mount point that is not empty after
# unmounting stays.
# shellcheck shell=sh
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
table=/etc/fstab
disk_failure=/run/fastgpu-data-disk
fail() { printf '%s\n' "$1" >&2; exit 1; }
source_at() { awk -v path="$1" '$2 == path { found = $1 } END { print found }' /proc/self/mounts; }
run() {
  doing=$1; shift; code=0
  said=$("$@" 2>&1 </dev/null) || code=$?
  [ "$code" -ne 124 ] || fail "$doing: no answer in time"
  [ "$code" -eq 0 ] || fail "$doing: $(printf '%s\n' "${said:-exit status $code}" | tail -n 1)"
}
is_ours='$1 !~ /^#/ && $3 == "nfs" && $4 ~ /(^|,)x-fastgpu(,|$)/'
ours() { awk "$is_ours" "$table"; }
others() { awk "!($is_ours)" "$table"; }
lines() { if [ "$#" -gt 0 ]; then printf '%s\n' "$@"; fi; }
apt() {  # As run, once nobody else holds a lock: a first boot has an apt-get of its own.
  doing=$1; shift; tries=120
  while :; do
    code=0
    said=$(timeout 300 apt-get -q -o Acquire::Retries=3 "$@" 2>&1 </dev/null) || code=$?
    case $code:$said in 0:*) return ;; *"Could not get lock"*|*"dpkg frontend lock"*) ;; *) tries=0 ;; esac
    [ "$tries" -gt 0 ] || fail "$doing: $(printf '%s\n' "${said:-exit status $code}" | tail -n 1)"
    tries=$((tries - 1))
    sleep 2
  done
}
install_client() {
  if command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt "asking for packages" update
    apt "installing nfs-common" -y install nfs-common
  elif command -v yum >/dev/null; then
    run "installing nfs-utils" timeout 600 yum -q -y install nfs-utils
  else
    fail "there is no mount.nfs, and neither apt-get nor yum to install it"
  fi
}

if [ -n "$1" ]; then
  tries=600
  while [ -z "$(source_at "$1")" ]; do
    [ ! -s "$disk_failure" ] || fail "$(cat "$disk_failure")"
    [ "$tries" -gt 0 ] || fail "nothing is at $1 after two minutes"
    tries=$((tries - 1))
    sleep 0.2
  done
fi
shift
[ -e "$table" ] || : > "$table"
lines "$@" | while read -r source path rest; do
  there=$(others | awk -v path="$path" '$1 !~ /^#/ && $2 == path { print $1 }')
  [ -z "$there" ] || fail "$table has $there at $path"
done
ours | while read -r source path rest; do
  if lines "$@" | grep -qxF "$source $path $rest"; then continue; fi
  [ "$(source_at "$path")" != "$source" ] || run "unmounting $path" umount "$path"
  rmdir "$path" 2>/dev/null || :
done
{ others; lines "$@"; } > "$table.fastgpu"
if cmp -s "$table.fastgpu" "$table"; then
  rm "$table.fastgpu"
else
  chmod 644 "$table.fastgpu"
  mv "$table.fastgpu" "$table"
  [ ! -d /run/systemd/system ] || systemctl daemon-reload || :
fi
lines "$@" | while read -r source path rest; do
  there=$(source_at "$path")
  [ "$there" != "$source" ] || continue
  [ -z "$there" ] || fail "$there is at $path"
  mkdir -p "$path"
  [ -z "$(ls -A "$path")" ] || fail "$path is not empty"
  command -v mount.nfs >/dev/null || install_client
  run "mounting $source at $path" timeout 90 mount "$path"
done
