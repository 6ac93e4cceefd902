// Small whole numbers as elements of any type.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "comm/kernels/reduce.hpp"

namespace fastgpu::comm::bench {

/// Calls `act` with a value of the C++ type for `type`.
template <class Act>
auto with_type(ElementType type, Act act) {
  switch (type) {
    case ElementType::float64:
      return act(double{});
    case ElementType::int32:
      return act(std::int32_t{});
    case ElementType::int64:
      return act(std::int64_t{});
    case ElementType::float16:
      return act(Float16{});
    case ElementType::bfloat16:
      return act(BFloat16{});
    case ElementType::int8:
      return act(std::int8_t{});
    case ElementType::uint8:
      return act(std::uint8_t{});
    case ElementType::float32:
      break;
  }
  return act(float{});
}

inline Float16 converted(float value, Float16) {
  return to_float16(value);
}
inline BFloat16 converted(float value, BFloat16) {
  return to_bfloat16(value);
}
template <class T>
T converted(float value, T) {
  return static_cast<T>(value);
}

inline float number_of(Float16 value) {
  return to_float(value);
}
inline float number_of(BFloat16 value) {
  return to_float(value);
}
template <class T>
T number_of(T value) {
  return value;
}

/// Writes a number to `element`, which is as long as one of its type.
inline void put_number(ElementType type, float value, std::span<std::byte> element) {
  with_type(type, [&](auto zero) {
    const auto number = converted(value, zero);
    std::memcpy(element.data(), &number, sizeof number);
  });
}

inline std::string number_text(ElementType type, std::span<const std::byte> element) {
  return with_type(type, [&](auto number) {
    std::memcpy(&number, element.data(), sizeof number);
    return std::to_string(number_of(number));
  });
}

}  // namespace fastgpu::comm::bench
