# Sets Slurm up on a node, and removes it. $1: the action, $2: the id of the cluster, then the words of the action.
# Without an id: the cluster whose Slurm is there.
#   prepare ROLE USER   installs Slurm if it is missing, and prints the facts of this node, one a line
#   key                 creates munge's key if it is missing, and prints it in Base64
#   apply ROLE NODE     reads the key, the files of Slurm and this script from standard input, and starts what does not run with them
#   await NODES         waits until the controller has that many nodes in service
#   leave               ends all jobs of the controller
#   remove              ends Slurm, and removes its files
#   check ROLE          prints what of Slurm does not run here, and on the head which nodes are not in service; needs no root
#   has                 exits with 0 if this node has the files of Slurm of the cluster, else with 3; needs no root
# ROLE is head or node. The script may be killed anywhere and be run again: it recognises finished steps.
# shellcheck shell=sh
set -eu
umask 077
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
action=$1
place=/var/lib/fastgpu-slurm
cluster=${2:-$(cat "$place/cluster")}
usual=/etc/slurm/slurm.conf
# shellcheck disable=SC2154   # Of slurm_environment.sh.
eval "$forget_slurm_options"
SLURM_CONF=$place/slurm.conf
export SLURM_CONF
fail() { printf '%s\n' "$1" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
last_line() { tail -n 1 "$1" 2>/dev/null || :; }
is_ours() { [ -s "$place/cluster" ] && [ "$(cat "$place/cluster")" = "$cluster" ]; }
if [ "$action" = has ]; then
  if is_ours; then exit 0; else exit 3; fi
fi

apt() {  # Waits for the lock of dpkg, which the apt-get of a first boot may have. A package that does not come is asked for three times more.
  doing=$1; shift; tries=120
  while :; do
    code=0
    said=$(timeout 600 apt-get -q -o Acquire::Retries=3 "$@" 2>&1 </dev/null) || code=$?
    case $code:$said in 0:*) return ;; *"Could not get lock"*|*"dpkg frontend lock"*) ;; *) tries=0 ;; esac
    [ "$tries" -gt 0 ] || fail "$doing: $(printf '%s\n' "${said:-exit status $code}" | tail -n 1)"
    tries=$((tries - 1))
    sleep 2
  done
}
install_missing() {  # $1: the role.
  missing=
  have munged || missing="$missing munge"
  have slurmd || missing="$missing slurmd"
  have sbatch || missing="$missing slurm-client"
  [ "$1" != head ] || have slurmctld || missing="$missing slurmctld"
  [ -n "$missing" ] || return 0
  have apt-get || fail "Slurm is missing ($missing ), and there is no apt-get to install it: install Slurm and munge"
  export DEBIAN_FRONTEND=noninteractive
  apt 'asking for packages' update
  # shellcheck disable=SC2086   # One word for each package.
  apt "installing$missing" -y --no-install-recommends install $missing
}
check_owner() {
  [ ! -s "$place/cluster" ] || is_ours ||
    fail "it has Slurm of another cluster of fastgpu: delete that cluster, or run there: sudo sh $place/set_up remove"
  if [ -e "$usual" ] || [ -L "$usual" ]; then
    [ "$(readlink "$usual")" = "$SLURM_CONF" ] || fail "it has Slurm already ($usual), which fastgpu does not change"
  fi
}
facts() {  # $1: the user whose jobs run.
  printf 'host\t%s\n' "$(uname -n)"
  printf 'user\t%s\n' "$(id -u "$1")"
  printf 'version\t%s\n' "$(slurmd -V)"
  printf 'hardware\t%s\n' "$(slurmd -C | head -n 1)"
  for file in /dev/nvidia[0-9] /dev/nvidia[0-9][0-9]; do
    if [ -e "$file" ]; then printf 'gpu\t%s\n' "$file"; fi
  done
  printf 'end\n'
}

runs() {  # $1: the program. True if the process in its file is that program.
  pid=$(cat "$place/$1.pid" 2>/dev/null) && [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$1" ]
}
end_program() {
  runs "$1" || return 0
  kill "$pid" 2>/dev/null || :
  tries=100
  while runs "$1"; do
    [ "$tries" -gt 0 ] || kill -KILL "$pid" 2>/dev/null || :
    tries=$((tries - 1))
    sleep 0.1
  done
}
start_program() {  # $1: the program, then its words. It becomes a daemon by itself.
  name=$1
  if runs "$name"; then return 0; fi
  rm -f "$place/$name.pid"
  (umask 022; "$@" </dev/null >>"$place/$name.log" 2>&1) || fail "$name does not start: $(last_line "$place/$name.log")"
  tries=100
  until runs "$name"; do
    [ "$tries" -gt 0 ] || fail "$name has ended: $(last_line "$place/$name.log")"
    tries=$((tries - 1))
    sleep 0.1
  done
}
take() {  # Moves a new file to its place. $1: its name, $2: its mode.
  chmod "$2" "$place/$1.new"
  mv "$place/$1.new" "$place/$1"
}
make_key() {
  mkdir -p "$place"
  chmod 755 "$place"
  printf '%s\n' "$cluster" >"$place/cluster.new"
  take cluster 644
  if [ ! -s "$place/munge.key" ]; then
    head -c 128 /dev/urandom >"$place/munge.key.new"
    take munge.key 400
  fi
  base64 -w 0 "$place/munge.key"
}
read_files() {
  mkdir -p "$place/state" "$place/spool" "$place/cgroup"
  chmod 755 "$place" "$place/spool" "$place/cgroup"
  printf '%s\n' "$cluster" >"$place/cluster.new"
  take cluster 644
  cat >"$place/files.new"
  head -n 1 "$place/files.new" | base64 -d >"$place/munge.key.new"
  sed -n '/^# slurm.conf$/,/^# gres.conf$/p' "$place/files.new" >"$place/slurm.conf.new"
  sed -n '/^# gres.conf$/,/^# cgroup.conf$/p' "$place/files.new" >"$place/gres.conf.new"
  sed -n '/^# cgroup.conf$/,/^# set_up$/p' "$place/files.new" >"$place/cgroup.conf.new"
  sed -n '/^# set_up$/,$p' "$place/files.new" >"$place/set_up.new"
  rm "$place/files.new"
  take munge.key 400
  for file in slurm gres cgroup; do take "$file.conf" 644; done
  take set_up 700
  mkdir -p "${usual%/*}"
  chmod 755 "${usual%/*}"
  [ -L "$usual" ] || ln -s "$SLURM_CONF" "$usual"
}
apply() {  # $1: the role, $2: the name of the node in Slurm.
  read_files
  wanted=$(cat "$place/munge.key" "$place"/*.conf | sha256sum)
  # Running jobs survive the end of slurmctld and slurmd.
  if [ "$wanted" != "$(cat "$place/applied" 2>/dev/null)" ]; then
    for program in slurmctld slurmd munged; do end_program "$program"; done
  fi
  start_program munged --force --key-file="$place/munge.key" --socket="$place/munge.socket" \
    --pid-file="$place/munged.pid" --log-file="$place/munged.log" --seed-file="$place/munge.seed"
  if [ "$1" = head ]; then start_program slurmctld; fi
  start_program slurmd -N "$2"
  printf '%s\n' "$wanted" >"$place/applied.new"
  take applied 600
}
is_in_service='$2 ~ /^(idle|mixed|allocated|completing|planned|reserved)$/'
await_nodes() {
  tries=300
  while :; do
    seen=$(timeout 20 sinfo -h -N -o '%N %T' 2>&1) || seen="the controller does not answer: $seen"
    [ "$(printf '%s\n' "$seen" | awk "$is_in_service" | wc -l)" -lt "$1" ] || return 0
    [ "$tries" -gt 0 ] || break
    tries=$((tries - 1))
    sleep 0.2
  done
  why=$(sinfo -h -R -o '%n: %E' 2>/dev/null | head -n 1)
  fail "not all nodes are in service after a minute: $(printf '%s\n' "$seen" | awk "!($is_in_service)" | head -n 1)${why:+ ($why)}"
}
end_jobs() {
  runs slurmctld || return 0
  tries=150
  while ids=$(timeout 20 squeue -h -o %A 2>/dev/null) && [ -n "$ids" ]; do
    # shellcheck disable=SC2086   # One word for each job.
    scancel $ids 2>/dev/null || :
    [ "$tries" -gt 0 ] || return 0
    tries=$((tries - 1))
    sleep 0.2
  done
}
end_steps() {
  for process in /proc/[0-9]*; do
    [ "$(cat "$process/comm" 2>/dev/null)" = slurmstepd ] || continue
    if tr '\0' '\n' <"$process/environ" 2>/dev/null | grep -qxF "SLURM_CONF=$SLURM_CONF"; then
      kill -KILL "${process#/proc/}" 2>/dev/null || :
    fi
  done
}
remove() {
  is_ours || return 0
  for program in slurmd slurmctld; do end_program "$program"; done
  end_steps
  end_program munged
  if [ "$(readlink "$usual")" = "$SLURM_CONF" ]; then rm -f "$usual"; fi
  # The file that names the owner goes last.
  find "$place" -mindepth 1 -maxdepth 1 ! -name cluster -exec rm -rf {} +
  rm -rf "$place" 2>/dev/null || [ ! -e "$place/cluster" ] || fail "$place cannot be removed"
}

check() {  # $1: the role. Prints what is wrong, one a line; needs no root.
  if ! is_ours; then printf 'missing\nend\n'; return 0; fi
  runs munged || printf 'dead\tmunged\n'
  runs slurmd || printf 'dead\tslurmd\n'
  if [ "$1" = head ]; then
    runs slurmctld || printf 'dead\tslurmctld\n'
    if seen=$(timeout 20 sinfo -h -N -o '%N %T' 2>&1); then
      printf '%s\n' "$seen" | awk "!(${is_in_service}) { printf \"out\\t%s\\t%s\\n\", \$1, \$2 }"
    else
      printf 'silent\t%s\n' "$(printf '%s\n' "$seen" | head -n 1 | tr '\t' ' ')"
    fi
  fi
  echo end
}

if [ "$action" = check ]; then check "$3"; exit 0; fi
[ "$(id -u)" = 0 ] || fail 'this needs root: log in as root, or as a user with sudo that asks for no password'
case $action in
  prepare)
    check_owner
    install_missing "$3"
    facts "$4"
    ;;
  key)
    check_owner
    make_key
    ;;
  apply)
    check_owner
    apply "$3" "$4"
    ;;
  await) await_nodes "$3" ;;
  leave) if is_ours; then end_jobs; fi ;;
  remove) remove ;;
  *) exit 2 ;;
esac
