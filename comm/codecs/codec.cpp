#include "comm/codecs/codec.hpp"

#include "base/error.hpp"
#include "comm/kernels/kernels.hpp"

namespace fastgpu::comm {

void Codec::encode_with_feedback(std::span<std::byte> code, std::span<float> values,
                                 std::uint64_t seed) const {
  encode(code, values, seed);
  add(values, code, -1);
  kernels().drop_non_finite(values.data(), values.size());
}

void Codec::add_range(std::span<float>, std::span<const std::byte>, std::size_t,
                      std::size_t) const {
  throw Error(ErrorKind::internal, "a code without ranges was to be decoded by ranges");
}

void Codec::check(std::span<const std::byte>, std::size_t) const {}

}  // namespace fastgpu::comm
