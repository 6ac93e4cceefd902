// The kernels, written once for any vector width. Included by one source file per instruction set,
// each compiled for its own: so everything here depends on a `Machine` that lives in an unnamed
// namespace there, and calls no inline function of anybody else's. The linker keeps one copy of
// such a function, and it must not be one that only some CPUs can run.
//
// A Machine has
//   Vector<Lane>          one or more numbers; arithmetic on it works lane by lane
//   kLanes<T>             elements of type T that one load brings
//   load(const T*)        as a Vector<LaneOf<T>>; halves become floats
//   store(T*, vector)     halves are rounded to nearest, ties to even
//   copy(to, from, bytes) past the caches where that is faster
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "comm/float16.hpp"
#include "comm/kernels/kernels.hpp"

namespace fastgpu::comm::loops {

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <class T>
constexpr bool kIsFloating = std::is_floating_point_v<T> || kIsHalf<T>;

/// What elements of type T are calculated in.
template <class T>
using LaneOf = std::conditional_t<kIsHalf<T>, float, T>;

template <std::size_t kSize>
struct Integers;
template <>
struct Integers<1> {
  using Signed = std::int8_t;
  using Unsigned = std::uint8_t;
};
template <>
struct Integers<2> {
  using Signed = std::int16_t;
  using Unsigned = std::uint16_t;
};
template <>
struct Integers<4> {
  using Signed = std::int32_t;
  using Unsigned = std::uint32_t;
};
template <>
struct Integers<8> {
  using Signed = std::int64_t;
  using Unsigned = std::uint64_t;
};
template <class T>
using SignedOf = typename Integers<sizeof(T)>::Signed;
template <class T>
using UnsignedOf = typename Integers<sizeof(T)>::Unsigned;

/// As integers, the bit patterns of a positive T that are not finite begin at `infinity`.
template <class T>
struct Format;
template <>
struct Format<float> {
  static constexpr std::int32_t kInfinity = 0x7f800000;
  static constexpr std::int32_t kTooLarge = 0x7f800000;
  static constexpr std::uint32_t kQuietNan = 0x7fc00000;
};
template <>
struct Format<double> {
  static constexpr std::int64_t kInfinity = 0x7ff0000000000000;
  static constexpr std::int64_t kTooLarge = 0x7ff0000000000000;
  static constexpr std::uint64_t kQuietNan = 0x7ff8000000000000;
};
template <>
struct Format<Float16> {
  static constexpr std::int16_t kInfinity = 0x7c00;
  static constexpr std::int32_t kTooLarge = 0x477ff000;  ///< 65520: the least float to round there.
};
template <>
struct Format<BFloat16> {
  static constexpr std::int16_t kInfinity = 0x7f80;
  static constexpr std::int32_t kTooLarge = 0x7f7f8000;
};

/// Loads and stores whole vectors.
template <class Machine>
struct Whole {
  template <class T>
  auto load(const T* from) const noexcept {
    return Machine::load(from);
  }
  template <class T, class Vector>
  void store(T* to, Vector value) const noexcept {
    Machine::store(to, value);
  }
};

/// The same for the last elements of an array, fewer than a vector has; the other lanes are zero.
template <class Machine>
struct Rest {
  std::size_t count;

  template <class T>
  auto load(const T* from) const noexcept {
    T padded[Machine::template kLanes<T>] = {};
    __builtin_memcpy(padded, from, count * sizeof(T));
    return Machine::load(padded);
  }
  template <class T, class Vector>
  void store(T* to, Vector value) const noexcept {
    T padded[Machine::template kLanes<T>];
    Machine::store(padded, value);
    __builtin_memcpy(to, padded, count * sizeof(T));
  }
};

/// Calls body(index, access) for all of [0, count), a vector at a time.
template <class Machine, std::size_t kLanes, class Body>
void for_each_vector(std::size_t count, Body body) noexcept {
  std::size_t at = 0;
  for (; count - at >= kLanes; at += kLanes)
    body(at, Whole<Machine>{});
  if constexpr (kLanes > 1)
    if (at < count) body(at, Rest<Machine>{count - at});
}

/// Arithmetic on Vector<Lane>, which is Lane itself where the machine has no vectors.
template <class Machine, class Lane>
struct Arithmetic {
  using Vector = typename Machine::template Vector<Lane>;
  using Signed = typename Machine::template Vector<SignedOf<Lane>>;
  using Unsigned = typename Machine::template Vector<UnsignedOf<Lane>>;

  static Vector of(Unsigned bits) noexcept { return __builtin_bit_cast(Vector, bits); }
  static Unsigned bits(Vector v) noexcept { return __builtin_bit_cast(Unsigned, v); }

  /// One NaN for all, so that results depend neither on the order of operands nor on the CPU.
  static Vector one_nan(Vector v) noexcept {
    return v == v ? v : of(Unsigned{} + Format<Lane>::kQuietNan);
  }

  static Vector sum(Vector a, Vector b) noexcept {
    if constexpr (kIsFloating<Lane>)
      return one_nan(a + b);
    else
      return of(static_cast<Unsigned>(bits(a) + bits(b)));
  }

  static Vector product(Vector a, Vector b) noexcept {
    if constexpr (kIsFloating<Lane>)
      return one_nan(a * b);
    else
      return of(static_cast<Unsigned>(bits(a) * bits(b)));
  }

  /// Of two zeros that differ in sign, the negative one.
  static Vector least(Vector a, Vector b) noexcept {
    if constexpr (kIsFloating<Lane>)
      return one_nan(of(bits(a < b ? a : b) | bits(b < a ? b : a)));
    else
      return a < b ? a : b;
  }

  /// Of two zeros that differ in sign, the positive one.
  static Vector greatest(Vector a, Vector b) noexcept {
    if constexpr (kIsFloating<Lane>) {
      const Vector larger = of(bits(a > b ? a : b) & bits(b > a ? b : a));
      return one_nan(a == a ? (b == b ? larger : b) : a);
    } else {
      return a > b ? a : b;
    }
  }

  /// The bits without the sign, which order as the numbers do, infinity and NaN last.
  static Signed magnitude(Vector v) noexcept {
    constexpr auto kAll = static_cast<UnsignedOf<Lane>>(-1);
    constexpr auto kMask = static_cast<UnsignedOf<Lane>>(kAll >> 1U);
    return __builtin_bit_cast(Signed, static_cast<Unsigned>(bits(v) & kMask));
  }
};

/// Remembers whether any vector that it was shown reaches `limit`: two instructions each.
template <class Machine, class Lane>
class Watch {
 public:
  using Numbers = Arithmetic<Machine, Lane>;

  void see(typename Numbers::Vector v) noexcept {
    const auto magnitude = Numbers::magnitude(v);
    largest_ = magnitude > largest_ ? magnitude : largest_;
  }

  bool reached(SignedOf<Lane> limit) const noexcept {
    SignedOf<Lane> lanes[sizeof(largest_) / sizeof(Lane)];
    __builtin_memcpy(lanes, &largest_, sizeof(largest_));
    for (const SignedOf<Lane> lane : lanes)
      if (lane >= limit) return true;
    return false;
  }

 private:
  typename Numbers::Signed largest_{};
};

/// Looks at nothing.
struct Blind {
  template <class Vector>
  void see(Vector) const noexcept {}
};

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

  /// Short enough to be in a cache when it is searched again.
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
  /// The index of the first NaN or infinity among `values`, one by one.
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

template <class Machine, class T>
constexpr void add_type(Kernels& table, ElementType type) {
  using Numbers = Arithmetic<Machine, LaneOf<T>>;
  using L = Loops<Machine>;
  const auto row = static_cast<std::size_t>(type);
  auto& reduce = table.reduce[row];
  reduce[static_cast<std::size_t>(ReduceOp::sum)] = L::template reduce<T, Numbers::sum>;
  reduce[static_cast<std::size_t>(ReduceOp::average)] = L::template reduce<T, Numbers::sum>;
  reduce[static_cast<std::size_t>(ReduceOp::min)] = L::template reduce<T, Numbers::least>;
  reduce[static_cast<std::size_t>(ReduceOp::max)] = L::template reduce<T, Numbers::greatest>;
  reduce[static_cast<std::size_t>(ReduceOp::product)] = L::template reduce<T, Numbers::product>;
  table.divide[row] = L::template divide<T>;
  if constexpr (kIsFloating<T>) table.first_non_finite[row] = L::template first_non_finite<T>;
}

template <class Machine, class To, class From>
constexpr void add_conversion(Kernels& table) {
  using L = Loops<Machine>;
  table.conversions[static_cast<std::size_t>(kElementType<To>)][static_cast<std::size_t>(
      kElementType<From>)] = {L::template convert<To, From>, L::template add<To, From>,
                              L::template convert_checked<To, From>};
}

template <class Machine>
constexpr Kernels table_of() {
  Kernels table{};
  add_type<Machine, float>(table, ElementType::float32);
  add_type<Machine, double>(table, ElementType::float64);
  add_type<Machine, std::int32_t>(table, ElementType::int32);
  add_type<Machine, std::int64_t>(table, ElementType::int64);
  add_type<Machine, Float16>(table, ElementType::float16);
  add_type<Machine, BFloat16>(table, ElementType::bfloat16);
  add_type<Machine, std::int8_t>(table, ElementType::int8);
  add_type<Machine, std::uint8_t>(table, ElementType::uint8);
  add_conversion<Machine, float, float>(table);
  add_conversion<Machine, float, Float16>(table);
  add_conversion<Machine, float, BFloat16>(table);
  add_conversion<Machine, Float16, float>(table);
  add_conversion<Machine, Float16, Float16>(table);
  add_conversion<Machine, BFloat16, float>(table);
  add_conversion<Machine, BFloat16, BFloat16>(table);
  add_conversion<Machine, double, double>(table);
  table.stream = Machine::stream;
  return table;
}

}  // namespace fastgpu::comm::loops
