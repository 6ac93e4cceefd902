// The names of element types and operations: without the operations on numbers, which need the
// kernels.
#include "comm/kernels/element_type.hpp"

namespace fastgpu::comm {

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
    case ElementType::float16:
      return "float16";
    case ElementType::bfloat16:
      return "bfloat16";
    case ElementType::int8:
      return "int8";
    case ElementType::uint8:
      return "uint8";
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
    case ReduceOp::product:
      return "product";
  }
  return "unknown operation";
}

}  // namespace fastgpu::comm
