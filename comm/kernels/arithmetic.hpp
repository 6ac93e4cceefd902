// The arithmetic that the kernels of loops.hpp do on a vector.
#pragma once

#include "comm/kernels/formats.hpp"

namespace fastgpu::comm::loops {

/// Arithmetic on Vector<Lane>, which is Lane itself if the machine has no vectors.
template <class Machine, class Lane>
struct Arithmetic {
  using Vector = typename Machine::template Vector<Lane>;
  using Signed = typename Machine::template Vector<SignedOf<Lane>>;
  using Unsigned = typename Machine::template Vector<UnsignedOf<Lane>>;

  static Vector of(Unsigned bits) noexcept { return __builtin_bit_cast(Vector, bits); }
  static Unsigned bits(Vector v) noexcept { return __builtin_bit_cast(Unsigned, v); }

  /// Replaces any NaN by the same one, so that results depend neither on the order of operands nor
  /// on the CPU.
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

  /// Returns the smaller number; of two zeros that differ in sign, the negative one.
  static Vector least(Vector a, Vector b) noexcept {
    if constexpr (kIsFloating<Lane>)
      return one_nan(of(bits(a < b ? a : b) | bits(b < a ? b : a)));
    else
      return a < b ? a : b;
  }

  /// Returns the larger number; of two zeros that differ in sign, the positive one.
  static Vector greatest(Vector a, Vector b) noexcept {
    if constexpr (kIsFloating<Lane>) {
      const Vector larger = of(bits(a > b ? a : b) & bits(b > a ? b : a));
      return one_nan(a == a ? (b == b ? larger : b) : a);
    } else {
      return a > b ? a : b;
    }
  }

  /// Returns the bits without the sign, which order as the numbers do, infinity and NaN last.
  static Signed magnitude(Vector v) noexcept {
    constexpr auto kAll = static_cast<UnsignedOf<Lane>>(-1);
    constexpr auto kMask = static_cast<UnsignedOf<Lane>>(kAll >> 1U);
    return __builtin_bit_cast(Signed, static_cast<Unsigned>(bits(v) & kMask));
  }
};

/// A watcher that knows whether any vector seen so far reaches `limit`: two instructions each.
template <class Machine, class Lane>
class Watch {
 public:
  using Numbers = Arithmetic<Machine, Lane>;

  void see(typename Numbers::Vector v) noexcept {
    const auto magnitude = Numbers::magnitude(v);
    largest_ = magnitude > largest_ ? magnitude : largest_;
  }

  bool reached(SignedOf<Lane> limit) const noexcept {
    SignedOf<Lane> lanes[sizeof(largest_) / sizeof(Lane)];  // NOLINT(bugprone-sizeof-expression)
    __builtin_memcpy(lanes, &largest_, sizeof(largest_));
    for (const SignedOf<Lane> lane : lanes)
      if (lane >= limit) return true;
    return false;
  }

 private:
  typename Numbers::Signed largest_{};
};

/// A watcher that ignores all vectors.
struct Blind {
  template <class Vector>
  void see(Vector) const noexcept {}
};

}  // namespace fastgpu::comm::loops
