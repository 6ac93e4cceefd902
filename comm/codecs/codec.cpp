#include "comm/codecs/codec.hpp"

#include "comm/kernels/kernels.hpp"

namespace fastgpu::comm {

void Codec::encode_with_feedback(std::span<std::byte> code, std::span<float> values,
                                 std::uint64_t seed) const {
  encode(code, values, seed);
  add(values, code, -1);
  kernels().drop_non_finite(values.data(), values.size());
}

void Codec::check(std::span<const std::byte>, std::size_t) const {}

}  // namespace fastgpu::comm
