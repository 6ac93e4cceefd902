#include "comm/reduce.hpp"

#include <type_traits>

namespace fastgpu::comm {
namespace {

template <class T>
T add(T a, T b) noexcept {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}

// `b != b` holds for NaN alone, which thereby wins.
template <class T>
T least(T a, T b) noexcept {
  return b < a || b != b ? b : a;
}
template <class T>
T greatest(T a, T b) noexcept {
  return b > a || b != b ? b : a;
}

template <class T, class Combine>
void combine(std::span<std::byte> into, std::span<const std::byte> from, Combine op) {
  T* const a = reinterpret_cast<T*>(into.data());
  const T* const b = reinterpret_cast<const T*>(from.data());
  const std::size_t count = into.size() / sizeof(T);
  for (std::size_t i = 0; i < count; ++i)
    a[i] = op(a[i], b[i]);
}

template <class T>
void reduce_as(std::span<std::byte> into, std::span<const std::byte> from, ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::average:
      return combine<T>(into, from, add<T>);
    case ReduceOp::min:
      return combine<T>(into, from, least<T>);
    case ReduceOp::max:
      return combine<T>(into, from, greatest<T>);
  }
}

template <class T>
void divide(std::span<std::byte> data, int ranks) {
  T* const values = reinterpret_cast<T*>(data.data());
  const std::size_t count = data.size() / sizeof(T);
  for (std::size_t i = 0; i < count; ++i)
    values[i] /= static_cast<T>(ranks);
}

}  // namespace

std::size_t size_of(ElementType type) noexcept {
  switch (type) {
    case ElementType::float32:
    case ElementType::int32:
      return 4;
    case ElementType::float64:
    case ElementType::int64:
      return 8;
  }
  return 0;
}

std::string_view name_of(ElementType type) noexcept {
  switch (type) {
    case ElementType::float32:
      return "float32";
    case ElementType::float64:
      return "float64";
    case ElementType::int32:
      return "int32";
    case ElementType::int64:
      return "int64";
  }
  return "unknown type";
}

std::string_view name_of(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::average:
      return "average";
    case ReduceOp::min:
      return "min";
    case ReduceOp::max:
      return "max";
  }
  return "unknown operation";
}

void reduce_into(std::span<std::byte> into, std::span<const std::byte> from, Reduction reduction) {
  switch (reduction.type) {
    case ElementType::float32:
      return reduce_as<float>(into, from, reduction.op);
    case ElementType::float64:
      return reduce_as<double>(into, from, reduction.op);
    case ElementType::int32:
      return reduce_as<std::int32_t>(into, from, reduction.op);
    case ElementType::int64:
      return reduce_as<std::int64_t>(into, from, reduction.op);
  }
}

void finish(std::span<std::byte> data, Reduction reduction, int ranks) {
  if (reduction.op != ReduceOp::average) return;
  switch (reduction.type) {
    case ElementType::float32:
      return divide<float>(data, ranks);
    case ElementType::float64:
      return divide<double>(data, ranks);
    case ElementType::int32:
      return divide<std::int32_t>(data, ranks);
    case ElementType::int64:
      return divide<std::int64_t>(data, ranks);
  }
}

}  // namespace fastgpu::comm
