#include "comm/codecs/codec.hpp"

#include "comm/kernels/kernels.hpp"

namespace fastgpu::comm {

void encode_with_feedback(const Codec& codec, std::span<std::byte> code, std::span<float> values,
                          std::uint64_t seed) {
  codec.encode(code, values, seed);
  codec.add(values, code, -1);
  kernels().drop_non_finite(values.data(), values.size());
}

}  // namespace fastgpu::comm
