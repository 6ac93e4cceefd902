#!/usr/bin/env bash
# Builds the device code, checks it and measures it: gpu.sh BUILD_DIR [build]. Writes
# docs/benchmarks/gpu-NAME.json, NAME being the GPU's; with `build`, stops once all is compiled.
#
# Asks for nvcc and its C++ compiler alone, so that it runs on machines with a GPU that have no
# packages of ours and no network. PyTorch and NCCL join in where they are. Exit status 77 where
# there is no GPU.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
out=$1
only_build=${2:-}
export out

die() { printf 'gpu: %s\n' "$*" >&2; exit 1; }

PATH=$PATH:/usr/local/cuda/bin
if [ "$only_build" != build ] && ! nvidia-smi -L 2>/dev/null | grep -q GPU; then
  echo "gpu: no NVIDIA GPU here" >&2
  exit 77
fi
command -v nvcc >/dev/null || die "nvcc is missing: install CUDA 13"

version=$(sed -n "s/.*version: '\([0-9.]*\)'.*/\1/p" meson.build | head -1)
export version
includes=(-I. -Isrc -Itests)
# Where doctest is not installed, what stands in for it.
echo '#include <doctest/doctest.h>' | g++ -E -x c++ - >/dev/null 2>&1 || includes+=(-Itests/gpu/stand_in)
export includes_text="${includes[*]}"
architectures=$(python3 comm/gpu/architectures.py nvcc | tr '\n' ' ')
export architectures

# As comm/kernels/meson.build and tests/gpu/meson.build have it.
flags_of() {
  case $1 in
    *.cu) echo "$architectures -optf comm/gpu/nvcc.options" ;;
    comm/kernels/avx2.cpp) echo "-Xcompiler -O3,-ffp-contract=off,-mavx2,-mf16c" ;;
    comm/kernels/avx512.cpp) echo "-Xcompiler -O3,-ffp-contract=off,-mavx512f,-mavx512bw,-mavx512dq,-mavx512vl" ;;
    *) echo "-Xcompiler -O2,-ffp-contract=off,-fno-strict-aliasing,-Wno-psabi -DFASTGPU_VERSION=\"$version\"" ;;
  esac
}
object_of() { echo "$out/${1//\//_}.o"; }
compile() {
  local object; object=$(object_of "$1")
  [ -f "$object" ] && [ -z "$(find "$1" comm src/base tests/gpu -newer "$object" -type f -print -quit)" ] && return 0
  # shellcheck disable=SC2046,SC2086  # Flags are words.
  nvcc -std=c++20 $(flags_of "$1") $includes_text -c "$1" -o "$object"
}
export -f flags_of object_of compile

# All of the library but the files that ask for packages: nothing here calls those.
mapfile -t library < <(find comm/{common,kernels,codecs,schedule,mpi,transports,rendezvous,engine,communicator,trace,fusion,gpu,gradients} src/base -name '*.cpp' -print0 |
  xargs -0 grep -LE 'nlohmann|openssl|base/json.hpp|<mpi.h>' | sort)
library+=(comm/gpu/{codes,pack,reduce}.cu tests/gpu/stand_in/no_tuned_file.cpp)
arithmetic=(tests/main.cpp tests/gpu/{codes,steps,tiles}_test.cpp)
device=(tests/gpu/{main,collectives_test,gradients_test,kernels_test,nccl_test}.cpp)
pair=(tests/gpu/nccl_pair.cpp)
bench=(comm/bench/{gpu,device_step,models}.cpp)

link() {   # link PROGRAM SOURCES...
  local program=$1 source objects=(); shift
  for source in "$@"; do objects+=("$(object_of "$source")"); done
  nvcc -o "$out/$program" "${objects[@]}" "$out/library.a" -ldl -lrt -lpthread
}

mkdir -p "$out"
echo "==> building" >&2
printf '%s\n' "${library[@]}" "${arithmetic[@]}" "${device[@]}" "${pair[@]}" "${bench[@]}" |
  tac | xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'compile {}'
rm -f "$out/library.a"
mapfile -t objects < <(printf '%s\n' "${library[@]}" | while read -r source; do object_of "$source"; done)
ar rcs "$out/library.a" "${objects[@]}"
link test_gpu_arithmetic "${arithmetic[@]}"
link test_gpu "${device[@]}"
link test_gpu_nccl_pair "${pair[@]}"
link bench_comm_gpu "${bench[@]}"
[ "$only_build" != build ] || exit 0

echo "==> checking" >&2
"$out/test_gpu_arithmetic"
"$out/test_gpu"
# NCCL comes with PyTorch where it is not installed by itself.
nccl=$(python3 -c 'import nvidia.nccl as n; print(list(n.__path__)[0] + "/lib")' 2>/dev/null || true)
status=0
LD_LIBRARY_PATH=${nccl:+$nccl:}${LD_LIBRARY_PATH:-} "$out/test_gpu_nccl_pair" || status=$?
case $status in
  0) said="right" ;;
  77) said="not installed" ;;
  *) die "the two ranks of NCCL disagree" ;;
esac

echo "==> measuring" >&2
"$out/bench_comm_gpu" >"$out/gpu.json"
python3 tests/bench/gpu_torch.py "$out/gpu.json" docs/benchmarks "$said"
