#!/usr/bin/env bash
# Builds a kube-apiserver from Debian's source package, and keeps it beside Debian's etcd: build_api_server.sh [--find]
# Prints the folder that has both. The build takes one core for 10 to 30 minutes, and 2 GB while it lasts; the folder has 130 MB.
# --find only looks for it, and ends with 77 if there is none. FASTGPU_KUBERNETES_CACHE names another folder for all versions.
# Nothing is installed: apt reads a list of its own in there, and packages are unpacked and not set up.
set -euo pipefail
cache=${FASTGPU_KUBERNETES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastgpu-tests/kubernetes}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

newest() { find "$cache" -mindepth 2 -maxdepth 2 -name kube-apiserver -printf '%h\n' 2>/dev/null | sort -V | tail -n 1; }

if [ "${1:-}" = --find ]; then
  found=$(newest)
  [ -n "$found" ] || { echo "no kube-apiserver has been built: $0" >&2; exit 77; }
  echo "$found"
  exit
fi

mkdir -p "$cache/apt/lists/partial" "$cache/apt/archives/partial"
for word in deb deb-src; do
  echo "$word [signed-by=$keyring] http://deb.debian.org/debian bookworm main"
done >"$cache/apt/sources.list"
apt=(-qq -o "Dir::Etc::SourceList=$cache/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$cache/apt/lists"
  -o "Dir::Cache=$cache/apt" -o APT::Sandbox::User= -o Debug::NoLocking=1)
if ! apt-get "${apt[@]}" update >"$cache/apt/log" 2>&1; then   # What was built before serves without a network.
  found=$(newest)
  [ -n "$found" ] || { tail -n 5 "$cache/apt/log" >&2; exit 1; }
  echo "$found"
  exit
fi
version=$(apt-cache "${apt[@]}" showsrc kubernetes | sed -n 's/^Version: //p' | sort -V | tail -n 1)
place=$cache/$version
if [ -x "$place/kube-apiserver" ]; then echo "$place"; exit; fi

work=$(mktemp -d "$cache/building.XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
{
  apt-get "${apt[@]}" source --download-only "kubernetes=$version"
  apt-get "${apt[@]}" download etcd-server golang-1.19-go golang-1.19-src golang-github-modern-go-reflect2-dev
  for package in ./*.deb; do dpkg -x "$package" root; done
  dpkg-source --no-check -x ./*.dsc source
  # The reflect2 of the source package reads memory that is not its own in programs of Go 1.18 and later.
  rm -rf source/vendor/github.com/modern-go/reflect2
  cp -r root/usr/share/gocode/src/github.com/modern-go/reflect2 source/vendor/github.com/modern-go/
  # Without a repository of git the version is unknown.
  release=${version#*+really} release=${release%%-*}
  printf '%s\n' KUBE_GIT_COMMIT=0000000000000000000000000000000000000000 KUBE_GIT_TREE_STATE=archive "KUBE_GIT_VERSION=v$release" \
    "KUBE_GIT_MAJOR=$(cut -d. -f1 <<<"$release")" "KUBE_GIT_MINOR=$(cut -d. -f2 <<<"$release")" >version
  cd source
  env -u GOPATH GOROOT="$work/root/usr/lib/go-1.19" GOCACHE="$work/go-cache" PATH="$work/root/usr/lib/go-1.19/bin:$PATH" GOPROXY=off \
    GOFLAGS=-p=1 CGO_ENABLED=0 KUBE_GIT_VERSION_FILE="$work/version" nice -n 19 make WHAT=cmd/kube-apiserver
  mkdir "$work/done"
  cp _output/bin/kube-apiserver "$work/root/usr/bin/etcd" "$work/done/"
} >"$cache/log" 2>&1 || { tail -n 20 "$cache/log" >&2; exit 1; }
mv -T "$work/done" "$place"
echo "$place"
