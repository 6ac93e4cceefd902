#include "comm/gradients/non_finite.hpp"

#include <utility>

#include "base/names.hpp"
#include "comm/kernels/convert.hpp"
#include "comm/kernels/element_type.hpp"

namespace fastgpu::comm {

NonFiniteReport::Value non_finite_at(std::span<const std::byte> data, ElementType type,
                                     std::size_t index) {
  const std::size_t size = size_of(type);
  double wide = 0;
  float value = 0;
  const auto element = data.subspan(index * size, size);
  if (type == ElementType::float64) {
    convert(std::as_writable_bytes(std::span(&wide, 1)), element, {type, type});
    return wide != wide ? NonFiniteReport::Value::nan : NonFiniteReport::Value::infinity;
  }
  convert(std::as_writable_bytes(std::span(&value, 1)), element, {type, ElementType::float32});
  return value != value ? NonFiniteReport::Value::nan : NonFiniteReport::Value::infinity;
}

void keep_first(std::optional<NonFiniteReport>& first, const NonFiniteReport& other) {
  const auto place = [](const NonFiniteReport& each) {
    return std::pair(each.gradient, each.index);
  };
  if (!first || place(other) < place(*first)) first = other;
}

std::string describe(const NonFiniteReport& report, std::uint32_t step, const GradientTable& table,
                     ElementType on_wire, GradientContent content) {
  const bool is_nan = report.value == NonFiniteReport::Value::nan;
  const std::string what = content == GradientContent::moves
                               ? "the move of parameter"
                               : "step " + std::to_string(step) + ": gradient";
  return what + " '" + printable(table[report.gradient].name) + "' of rank " +
         std::to_string(report.rank.value) + " has " + (is_nan ? "NaN" : "infinity") +
         " at index " + std::to_string(report.index) +
         (is_nan || size_of(on_wire) >= size_of(table[report.gradient].type)
              ? ""
              : ", as " + std::string(name_of(on_wire)) + " on the wire (FASTGPU_COMM_WIRE)");
}

}  // namespace fastgpu::comm
