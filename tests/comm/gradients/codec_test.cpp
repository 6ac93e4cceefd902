#include "comm/gradients/codec_traits.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

WireTraits traits(WireType wire, int ranks) {
  return traits_of({.wire = wire}, ranks);
}

WireTraits traits(CodecId codec, int ranks) {
  return traits_of({.wire = WireType::encoded, .codec = {codec, 0.01}}, ranks);
}

TEST_SUITE_BEGIN("comm/gradients/codec");

TEST_CASE("numbers of 16 bits can be added on the way, but not where sums are made in float32") {
  for (const WireType wire : {WireType::same, WireType::float16, WireType::bfloat16})
    CHECK(traits(wire, 8).kind == CodecKind::linear);
  CHECK(traits(WireType::mixed, 3).kind == CodecKind::gather_only);
  CHECK(traits(WireType::mixed, 2).kind == CodecKind::linear);  // One sum is rounded once.
}

TEST_CASE("codes are never added on the way, and a rank alone has none") {
  for (const CodecId codec : {CodecId::int8, CodecId::one_bit, CodecId::top_k}) {
    CHECK(traits(codec, 2).kind == CodecKind::gather_only);
    CHECK(traits(codec, 2).exchange == Exchange::gather);
    CHECK(traits(codec, 1).exchange == Exchange::all_reduce);
  }
}

TEST_CASE("factors of matrices are added in two rounds, which NCCL does not make") {
  CHECK(traits(CodecId::power_sgd, 2).kind == CodecKind::factors);
  CHECK(allows(CodecKind::factors, Exchange::factors));
  CHECK(traits(CodecId::power_sgd, 2).exchange == Exchange::factors);
  CHECK(traits(CodecId::power_sgd, 1).exchange == Exchange::all_reduce);
}

TEST_CASE("what is not linear is never added while it is encoded") {
  for (const Exchange adds : {Exchange::all_reduce, Exchange::nccl}) {
    CHECK(allows(CodecKind::linear, adds));
    CHECK_FALSE(allows(CodecKind::gather_only, adds));
    CHECK_FALSE(allows(CodecKind::difference, adds));
    CHECK_FALSE(allows(CodecKind::factors, adds));
  }
  CHECK_FALSE(allows(CodecKind::difference, Exchange::mixed_precision_reduce));
  CHECK_FALSE(allows(CodecKind::gather_only, Exchange::neighbours));
}

TEST_CASE("every way of the wire has an exchange that it allows") {
  for (const int ranks : {1, 2, 3, 8}) {
    for (const WireType wire :
         {WireType::same, WireType::float16, WireType::bfloat16, WireType::mixed})
      CHECK(allows(traits(wire, ranks).kind, traits(wire, ranks).exchange));
    for (const CodecId codec : {CodecId::int8, CodecId::one_bit, CodecId::top_k})
      CHECK(allows(traits(codec, ranks).kind, traits(codec, ranks).exchange));
  }
}

TEST_CASE("what does not go together is refused with both names, and what does") {
  const Error e =
      test::failure_of([] { check_allowed(traits(WireType::mixed, 4), Exchange::nccl); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()) ==
        "FASTGPU_COMM_WIRE mixed does not go with NCCL: its gradients are decoded before they are "
        "added, which is left to sums in float32");
  const Error code =
      test::failure_of([] { check_allowed(traits(CodecId::top_k, 4), Exchange::nccl); });
  CHECK(std::string(code.what()) ==
        "FASTGPU_COMM_WIRE topk does not go with NCCL: its gradients are decoded before they are "
        "added, which is left to the exchange of codes");
  CHECK_NOTHROW(check_allowed(traits(WireType::mixed, 2), Exchange::nccl));
  CHECK_NOTHROW(check_allowed(traits(WireType::float16, 9), Exchange::nccl));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
