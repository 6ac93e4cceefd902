#include "comm/gradients/codec.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace fastgpu::comm {
namespace {

std::string_view words_of(Exchange exchange) {
  switch (exchange) {
    case Exchange::all_reduce:
      return "all-reduce";
    case Exchange::nccl:
      return "NCCL";
    case Exchange::mixed_precision_reduce:
      return "sums in float32";
    case Exchange::neighbours:
      return "exchange between neighbours";
  }
  return "";
}

std::string_view words_of(CodecKind kind) {
  switch (kind) {
    case CodecKind::linear:
      return "can be added as they are";
    case CodecKind::gather_only:
      return "are decoded before they are added";
    case CodecKind::difference:
      return "describe the change since the last step";
  }
  return "";
}

}  // namespace

Codec codec_of(WireType wire, int ranks) noexcept {
  switch (wire) {
    case WireType::same:
      return {"same"};
    case WireType::float16:
      return {"fp16"};
    case WireType::bfloat16:
      return {"bf16"};
    case WireType::mixed:
      return {"mixed", ranks > 2 ? CodecKind::gather_only : CodecKind::linear};
  }
  return {};
}

bool allows(CodecKind kind, Exchange exchange) noexcept {
  switch (kind) {
    case CodecKind::linear:
      return true;  // Codes that can be added can also be decoded first, and compared.
    case CodecKind::gather_only:
      return exchange == Exchange::mixed_precision_reduce;
    case CodecKind::difference:
      return exchange == Exchange::neighbours;
  }
  return false;
}

Exchange usual_exchange(CodecKind kind) noexcept {
  switch (kind) {
    case CodecKind::linear:
      return Exchange::all_reduce;
    case CodecKind::gather_only:
      return Exchange::mixed_precision_reduce;
    case CodecKind::difference:
      break;
  }
  return Exchange::neighbours;
}

void check_allowed(const Codec& codec, Exchange exchange) {
  if (allows(codec.kind, exchange)) return;
  throw Error(ErrorKind::usage, "FASTGPU_COMM_WIRE " + std::string(codec.name) +
                                    " does not go with " + std::string(words_of(exchange)) +
                                    ": its gradients " + std::string(words_of(codec.kind)) +
                                    ", which is left to " +
                                    std::string(words_of(usual_exchange(codec.kind))));
}

}  // namespace fastgpu::comm
