#!/usr/bin/env bash
# Makes a Python environment with one framework, and keeps it: make_environments.sh [--find] FRAMEWORK (deepspeed horovod jax tensorflow)
# Prints its folder, which has bin/python. The packages are those of PyPI that the framework's list names, each with its hash; Horovod is built, which
# takes 3 to 10 minutes, once. deepspeed and horovod use Debian's PyTorch.
# --find only looks for it, and ends with 77 and a reason if there is none.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/fastgpu-tests/frameworks
finds=false
if [ "${1:-}" = --find ]; then finds=true; shift; fi
framework=${1:?name a framework: deepspeed, horovod, jax or tensorflow}
case $framework in
  tensorflow | jax) list=$here/../envs/frameworks/$framework.txt ;;
  *) list=$here/$framework.txt ;;
esac
place=$cache/$framework-$(sha256sum "$list" | head -c 12)

if [ -e "$place/done" ]; then echo "$place"; exit; fi
if "$finds"; then
  echo "no environment with $framework: $here/make_environments.sh $framework makes it, and ./dev test --long" >&2
  exit 77
fi

# An environment cannot be moved: one without the file "done" is incomplete and made anew.
rm -rf "$place"
mkdir -p "$cache"
system=()
case $framework in horovod | deepspeed) system=(--system-site-packages) ;; esac
/usr/bin/python3 -m venv "${system[@]}" "$place"
pip=("$place/bin/python" -m pip install --quiet --no-deps --require-hashes)
case $framework in
  horovod)   # Its other parts would be built if their frameworks are here.
    export HOROVOD_WITH_PYTORCH=1 HOROVOD_WITH_MPI=1 HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 HOROVOD_WITHOUT_GLOO=1
    "${pip[@]}" --no-build-isolation --no-binary horovod -r "$list" >&2 ;;
  deepspeed) DS_BUILD_OPS=0 "${pip[@]}" --no-build-isolation --no-binary deepspeed -r "$list" >&2 ;;
  *) "${pip[@]}" --only-binary=:all: -r "$list" >&2 ;;
esac
touch "$place/done"
echo "$place"
