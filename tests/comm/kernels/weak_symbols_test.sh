#!/bin/sh
# Code for one instruction set holds no function of which the linker keeps any one copy: another CPU
# would run it too.
set -eu
for library in "$@"; do
  shared=$(nm --defined-only "$library" | awk '$2 ~ /^[Wu]$/')
  if [ -n "$shared" ]; then
    printf '%s:\n%s\n' "$library" "$shared" >&2
    exit 1
  fi
done
