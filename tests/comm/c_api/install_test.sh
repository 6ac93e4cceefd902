#!/usr/bin/env bash
# Installed for real: the library, its headers and its pkg-config file, as found by a C99 program, which is
# examples/gradients.c, run with two ranks: install_test.sh BUILD_ROOT SOURCE_ROOT VERSION SANITIZERS
set -euo pipefail
build=$1 source=$2 version=$3 sanitizers=$4
for needed in meson pkg-config cc; do
  command -v "$needed" >/dev/null || { echo "there is no $needed"; exit 77; }
done
[ "$sanitizers" = none ] || { echo "a sanitized library is not for other programs"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

meson install -C "$build" --no-rebuild --tags comm,devel --destdir "$work/root" >"$work/install.log" 2>&1 ||
  { cat "$work/install.log"; exit 1; }
folder_of() { dirname "$(find "$work/root" -name "$1")"; }
PKG_CONFIG_LIBDIR=$(folder_of fastgpu_comm.pc) LD_LIBRARY_PATH=$(folder_of libfastgpu_comm.so.0)
export PKG_CONFIG_LIBDIR LD_LIBRARY_PATH PKG_CONFIG_SYSROOT_DIR=$work/root
[ "$(pkg-config --modversion fastgpu_comm)" = "$version" ]
read -ra flags < <(pkg-config --cflags --libs fastgpu_comm)
strict=(-Wall -Wextra -pedantic -Werror)

cd "$(folder_of fastgpu_comm.h)"
for header in fastgpu_comm.h fastgpu_comm/*.h; do   # Each by itself, in both languages.
  echo "#include <$header>" | cc -x c -std=c99 "${strict[@]}" -fsyntax-only - "${flags[@]}"
  echo "#include <$header>" | cc -x c++ "${strict[@]}" -fsyntax-only - "${flags[@]}"
done
for header in fastgpu_comm.hpp fastgpu_comm/*.hpp; do
  echo "#include <$header>" | cc -x c++ -std=c++20 "${strict[@]}" -fsyntax-only - "${flags[@]}"
done

cd "$work"
cc -std=c99 "${strict[@]}" "$source/examples/gradients.c" -o example "${flags[@]}"
export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 20000)) FASTGPU_COMM_TIMEOUT=20s
RANK=1 ./example >rank-1 & other=$!
RANK=0 ./example >rank-0
wait "$other"
for rank in 0 1; do
  diff "rank-$rank" - <<<"$(printf "rank $rank of 2, step %d: 2.5\n" 0 1 2)"
done

# The Python package, which finds the library of its own installation by itself.
unset LD_LIBRARY_PATH
PYTHONPATH=$(dirname "$(folder_of __init__.py)") python3 -B - "$version" <<'END'
import sys, fastgpu_comm
with fastgpu_comm.init({"WORLD_SIZE": None}) as comm:
    assert (comm.size, fastgpu_comm.version(), fastgpu_comm.__version__) == (1, sys.argv[1], sys.argv[1])
    assert comm.broadcast(bytearray(b'one')) == b'one'
END
