#include "comm/gradients/codec_traits.hpp"

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
    case Exchange::factors:
      return "sums of factors";
    case Exchange::gather:
      return "the exchange of codes";
    case Exchange::neighbours:
      return "exchange between neighbours";
  }
  return "";
}

std::string_view words_of(CodecKind kind) {
  switch (kind) {
    case CodecKind::linear:
      return "can be added as they are";
    case CodecKind::factors:
      return "become thin factors";
    case CodecKind::gather_only:
      return "are decoded before they are added";
    case CodecKind::difference:
      return "describe the change since the last step";
  }
  return "";
}

}  // namespace

WireTraits traits_of(const GradientSettings& settings, int ranks) noexcept {
  using enum CodecKind;
  switch (settings.wire) {
    case WireType::same:
      return {"same"};
    case WireType::float16:
      return {"fp16"};
    case WireType::bfloat16:
      return {"bf16"};
    case WireType::mixed:
      if (ranks <= 2) return {"mixed"};
      return {"mixed", gather_only, Exchange::mixed_precision_reduce};
    case WireType::encoded:
      const CodecEntry& codec = entry_of(settings.codec.id);
      const std::string_view name = codec.name;
      if (ranks == 1) return {name};
      if (codec.is_linear) return {name, factors, Exchange::factors};
      return {name, gather_only, Exchange::gather};
  }
  return {};
}

bool allows(CodecKind kind, Exchange exchange) noexcept {
  switch (kind) {
    case CodecKind::linear:
      return true;  // Codes that can be added can also be decoded first, and compared.
    case CodecKind::factors:
      return exchange == Exchange::factors;
    case CodecKind::gather_only:
      return exchange == Exchange::mixed_precision_reduce || exchange == Exchange::gather;
    case CodecKind::difference:
      return exchange == Exchange::neighbours;
  }
  return false;
}

void check_allowed(const WireTraits& wire, Exchange exchange) {
  if (allows(wire.kind, exchange)) return;
  throw Error(ErrorKind::usage, "FASTGPU_COMM_WIRE " + std::string(wire.name) +
                                    " does not go with " + std::string(words_of(exchange)) +
                                    ": its gradients " + std::string(words_of(wire.kind)) +
                                    ", which is left to " + std::string(words_of(wire.exchange)));
}

}  // namespace fastgpu::comm
