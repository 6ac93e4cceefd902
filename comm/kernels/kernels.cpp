#include "comm/kernels/kernels.hpp"

#include <fstream>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/common/process_environment.hpp"
#include "comm/kernels/tables.hpp"

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace fastgpu::comm {
namespace {

constexpr SimdLevel kLevels[] = {SimdLevel::portable, SimdLevel::avx2, SimdLevel::avx512};

#ifdef __x86_64__
bool has_f16c() noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

}  // namespace

std::string_view name_of(SimdLevel level) noexcept {
  switch (level) {
    case SimdLevel::portable:
      return "portable";
    case SimdLevel::avx2:
      return "avx2";
    case SimdLevel::avx512:
      return "avx512";
  }
  return "unknown level";
}

CpuFeatures cpu_features() noexcept {
#ifdef __x86_64__
  return {.avx2 = __builtin_cpu_supports("avx2") != 0,
          .f16c = has_f16c(),
          .avx512f = __builtin_cpu_supports("avx512f") != 0,
          .avx512bw = __builtin_cpu_supports("avx512bw") != 0,
          .avx512dq = __builtin_cpu_supports("avx512dq") != 0,
          .avx512vl = __builtin_cpu_supports("avx512vl") != 0};
#else
  return {};
#endif
}

std::size_t last_cache_bytes() noexcept {
  constexpr std::size_t kUsual = 16 << 20;  // Used if the system does not report it.
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");  // Such as 32768K.
  std::size_t kibibytes = 0;
  return file >> kibibytes && file.get() == 'K' ? kibibytes << 10 : kUsual;
}

SimdLevel highest_level(const CpuFeatures& cpu) noexcept {
  if (!cpu.avx2 || !cpu.f16c) return SimdLevel::portable;
  const bool has_avx512 = cpu.avx512f && cpu.avx512bw && cpu.avx512dq && cpu.avx512vl;
  return has_avx512 ? SimdLevel::avx512 : SimdLevel::avx2;
}

SimdLevel chosen_level(SimdLevel highest, const std::optional<std::string>& wanted) {
  if (!wanted) return highest;
  for (const SimdLevel level : kLevels) {
    if (name_of(level) != *wanted) continue;
    if (level <= highest) return level;
    throw Error(ErrorKind::usage, "FASTGPU_COMM_SIMD is '" + *wanted +
                                      "', which this CPU does not have: its highest is '" +
                                      std::string(name_of(highest)) + "'");
  }
  throw Error(ErrorKind::usage, "FASTGPU_COMM_SIMD is '" + printable(*wanted) +
                                    "': portable, avx2 or avx512 was expected");
}

const Kernels& kernels_of(SimdLevel level) noexcept {
  switch (level) {
    case SimdLevel::portable:
      return portable_kernels();
#ifdef __x86_64__
    case SimdLevel::avx2:
      return avx2_kernels();
    case SimdLevel::avx512:
      return avx512_kernels();
#else
    case SimdLevel::avx2:
    case SimdLevel::avx512:
      break;
#endif
  }
  return portable_kernels();
}

const Kernels& kernels() {
  static const Kernels& chosen = kernels_of(
      chosen_level(highest_level(cpu_features()), process_environment()("FASTGPU_COMM_SIMD")));
  return chosen;
}

}  // namespace fastgpu::comm
