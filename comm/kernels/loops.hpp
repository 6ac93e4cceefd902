// The kernels, written once for any vector width. One source file per instruction set includes
// this, each compiled for its own. Everything here therefore depends on a `Machine` in an unnamed
// namespace there, and calls no inline function from elsewhere. The linker keeps one copy of such a
// function, and it must not be one that only some CPUs can run.
//
// A Machine has
//   Vector<Lane>          one or more numbers; arithmetic on it works lane by lane
//   kLanes<T>             elements of type T that one load brings
//   load(const T*)        as a Vector<LaneOf<T>>; halves become floats
//   store(T*, vector)     halves are rounded to nearest, ties to even
//   copy(to, from, bytes) past the caches where that is faster
//   sign_bits(const float*)         one bit for each of 16 numbers, set where the sign is
//   spread_signs(uint32_t*, bits)   the reverse: 16 numbers, of which the sign bit alone may be set
//   append_large(places, const float*, first, limit)
//                         writes the places, from `first` on, of those of 16 numbers whose bits
//                         without the sign reach the limit; may write up to 16, and returns how
//                         many count
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/kernels/access.hpp"
#include "comm/kernels/arithmetic.hpp"
#include "comm/kernels/formats.hpp"

namespace fastgpu::comm::loops {

template <class Machine>
struct Loops {
  template <class T, auto combine>
  static void reduce(void* into, const void* from, std::size_t count) noexcept {
    T* const a = static_cast<T*>(into);
    const T* const b = static_cast<const T*>(from);
    for_each_vector<Machine, Machine::template kLanes<T>>(
        count, [a, b](std::size_t i, auto access) noexcept {
          access.store(a + i, combine(access.load(a + i), access.load(b + i)));
        });
  }

  template <class T>
  static void divide(void* data, std::size_t count, int divisor) noexcept {
    T* const values = static_cast<T*>(data);
    if constexpr (kIsFloating<T>) {
      const auto ranks = static_cast<LaneOf<T>>(divisor);
      for_each_vector<Machine, Machine::template kLanes<T>>(
          count, [values, ranks](std::size_t i, auto access) noexcept {
            access.store(values + i, access.load(values + i) / ranks);
          });
    } else {
      for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<T>(values[i] / std::int64_t{divisor});
    }
  }

  template <class To, class From, class Watcher>
  static void convert_watched(To* to, const From* from, std::size_t count, LaneOf<To> scale,
                              Watcher& watcher) noexcept {
    constexpr std::size_t kLanes = Machine::template kLanes<LaneOf<To>>;
    for_each_vector<Machine, kLanes>(
        count, [to, from, scale, &watcher](std::size_t i, auto access) noexcept {
          const auto value = access.load(from + i) * scale;
          watcher.see(value);
          access.store(to + i, value);
        });
  }

  template <class To, class From>
  static void convert(void* to, const void* from, std::size_t count, double scale) noexcept {
    Blind nobody;
    convert_watched(static_cast<To*>(to), static_cast<const From*>(from), count,
                    static_cast<LaneOf<To>>(scale), nobody);
  }

  template <class To, class From>
  static void add(void* to, const void* from, std::size_t count, double scale) noexcept {
    To* const a = static_cast<To*>(to);
    const From* const b = static_cast<const From*>(from);
    const auto factor = static_cast<LaneOf<To>>(scale);
    constexpr std::size_t kLanes = Machine::template kLanes<LaneOf<To>>;
    for_each_vector<Machine, kLanes>(count, [a, b, factor](std::size_t i, auto access) noexcept {
      access.store(a + i, Arithmetic<Machine, LaneOf<To>>::sum(access.load(a + i),
                                                               access.load(b + i) * factor));
    });
  }

  /// The length of a block that is still in a cache when it is searched again.
  static constexpr std::size_t kBlock = 4096;

  template <class To, class From>
  static std::size_t convert_checked(void* to, const void* from, std::size_t count,
                                     double scale) noexcept {
    To* const a = static_cast<To*>(to);
    const From* const b = static_cast<const From*>(from);
    for (std::size_t at = 0; at < count; at += kBlock) {
      const std::size_t length = count - at < kBlock ? count - at : kBlock;
      Watch<Machine, LaneOf<To>> watch;
      convert_watched(a + at, b + at, length, static_cast<LaneOf<To>>(scale), watch);
      if (!watch.reached(Format<To>::kTooLarge)) continue;
      const std::size_t rest = at + length;
      convert<To, From>(a + rest, b + rest, count - rest, scale);
      return at + index_of_first<To>(a + at, length);
    }
    return count;
  }

  template <class T>
  static std::size_t first_non_finite(const void* data, std::size_t count) noexcept {
    using Bits = SignedOf<T>;
    const T* const values = static_cast<const T*>(data);
    for (std::size_t at = 0; at < count; at += kBlock) {
      const std::size_t length = count - at < kBlock ? count - at : kBlock;
      const T* const block = values + at;
      Watch<Machine, Bits> watch;
      for_each_vector<Machine, Machine::template kLanes<Bits>>(
          length, [block, &watch](std::size_t i, auto access) noexcept {
            watch.see(access.load(reinterpret_cast<const Bits*>(block + i)));
          });
      if (watch.reached(Format<T>::kInfinity)) return at + index_of_first<T>(block, length);
    }
    return count;
  }

 private:
  /// Returns the index of the first NaN or infinity among `values`, one by one.
  template <class T>
  static std::size_t index_of_first(const T* values, std::size_t count) noexcept {
    std::size_t at = 0;
    for (; at < count; ++at) {
      SignedOf<T> bits;
      __builtin_memcpy(&bits, values + at, sizeof(bits));
      if ((bits & Format<T>::kInfinity) == Format<T>::kInfinity) break;
    }
    return at;
  }
};

}  // namespace fastgpu::comm::loops
