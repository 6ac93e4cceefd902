# Stores the cluster's record, which comes on standard input, unless the cluster has another owner (exit status 4).
# $1: the record's size in bytes, $2: its writer.
# shellcheck shell=sh
set -e
umask 077
place=$HOME/.fastgpu
owner=$place/lease/owner
mkdir -p "$place"
part=$place/cluster.json.part.$$
trap 'rm -f "$part"' EXIT
cat > "$part"
[ "$(wc -c < "$part")" -eq "$1" ]
if [ -s "$owner" ]; then
  read -r there < "$owner" || :
  if [ -n "$there" ] && [ "$there" != "$2" ]; then exit 4; fi
fi
mv "$part" "$place/cluster.json"
