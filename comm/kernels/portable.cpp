// The kernels in plain C++: for CPUs without the other sets, and the reference for these.
#include "comm/kernels/tables.hpp"

#include <cstring>

#include "comm/kernels/table_of.hpp"

namespace fastgpu::comm {
namespace {

struct OneByOne {
  template <class Lane>
  using Vector = Lane;
  template <class T>
  static constexpr std::size_t kLanes = 1;

  template <class T>
  static loops::LaneOf<T> load(const T* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof(T));
    if constexpr (loops::kIsHalf<T>)
      return to_float(value);
    else
      return value;
  }

  template <class T>
  static void store(T* to, T value) noexcept {
    *to = value;
  }
  static void store(Float16* to, float value) noexcept { *to = to_float16(value); }
  static void store(BFloat16* to, float value) noexcept { *to = to_bfloat16(value); }

  static void stream(void* to, const void* from, std::size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
  }
};

}  // namespace

constexpr Kernels kPortable = loops::table_of<OneByOne>();

const Kernels& portable_kernels() noexcept {
  return kPortable;
}

}  // namespace fastgpu::comm
