#!/bin/bash
# Every command has a manual page, and what checks such pages has nothing to say about them.
# Usage: man_test.sh PATH-OF-FASTGPU
set -eu
fastgpu=$(realpath "$1")
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$fastgpu" __man "$pages"

fail() { echo "FAILED: $*"; exit 1; }
for page in fastgpu fastgpu-create-cluster fastgpu-get-nodes fastgpu-ssh fastgpu-version; do
  [[ -s $pages/$page.1 ]] || fail "no page $page"
done
[[ ! -e $pages/fastgpu-__complete.1 ]] || fail "a hidden command has a page"
for heading in "EXIT STATUS" ENVIRONMENT FILES; do
  grep -q "^.SH $heading" "$pages/fastgpu.1" || fail "fastgpu(1) has no section $heading"
done
for page in "$pages"/*.1; do
  if command -v groff >/dev/null; then
    said=$(groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null)
    [[ -z $said ]] || fail "groff: $said"
  fi
  if command -v mandoc >/dev/null; then
    # No date: the pages are the same whenever they are made.
    said=$(mandoc -Tlint -Wwarning "$page" | grep -v 'missing date' || true)
    [[ -z $said ]] || fail "mandoc: $said"
  fi
done
if command -v groff >/dev/null; then
  shown=$(groff -man -Tascii -P-c -P-b -P-u "$pages/fastgpu-create-cluster.1")
  [[ $shown == *"-n, --nodes N"* ]] || fail "no flag --nodes in: $shown"
fi
echo "ok"
