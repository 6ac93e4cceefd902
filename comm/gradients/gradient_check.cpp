#include "comm/gradients/gradient_check.hpp"

#include <string>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::comm {

void check_gradient(const GradientInfo& info, std::span<const std::byte> values,
                    const gpu::Device* device, const GradientSettings& settings) {
  const auto refuse = [&info](const std::string& why) {
    throw Error(ErrorKind::usage, "gradient '" + printable(info.name) + "' " + why);
  };
  const std::size_t bytes = elements_of(info) * size_of(info.type);
  if (!values.empty() && values.size() != bytes)
    refuse("has " + std::to_string(bytes) + " bytes, but memory of " +
           std::to_string(values.size()));
  if (info.type == ElementType::float64 && settings.codec.momentum > 0 &&
      settings.wire == WireType::encoded && !is_own_name(info.name))
    refuse(
        "is of float64: the momentum in FASTGPU_COMM_WIRE is applied to float32, float16 and "
        "bfloat16 alone");
  if (device == nullptr) return;
  if (values.data() == nullptr && bytes > 0) refuse("is on a device, but has no memory there");
  if (!values.empty()) device->check_is_here(values.data());
}

}  // namespace fastgpu::comm
