#include "comm/gradients/codec.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

TEST_SUITE_BEGIN("comm/gradients/codec");

TEST_CASE(
    "who travels as 16 bits can be added on the way, but not where sums are made in float32") {
  for (const WireType wire : {WireType::same, WireType::float16, WireType::bfloat16})
    CHECK(codec_of(wire, 8).kind == CodecKind::linear);
  CHECK(codec_of(WireType::mixed, 3).kind == CodecKind::gather_only);
  CHECK(codec_of(WireType::mixed, 2).kind == CodecKind::linear);  // One sum is rounded once.
}

TEST_CASE("what is not linear is never added while it is encoded") {
  for (const Exchange adds : {Exchange::all_reduce, Exchange::nccl}) {
    CHECK(allows(CodecKind::linear, adds));
    CHECK_FALSE(allows(CodecKind::gather_only, adds));
    CHECK_FALSE(allows(CodecKind::difference, adds));
  }
  CHECK_FALSE(allows(CodecKind::difference, Exchange::mixed_precision_reduce));
  CHECK_FALSE(allows(CodecKind::gather_only, Exchange::neighbours));
}

TEST_CASE("every codec has an exchange that it allows") {
  for (const CodecKind kind : {CodecKind::linear, CodecKind::gather_only, CodecKind::difference})
    CHECK(allows(kind, usual_exchange(kind)));
}

TEST_CASE("what does not go together is refused with both names, and what does") {
  const Error e =
      test::failure_of([] { check_allowed(codec_of(WireType::mixed, 4), Exchange::nccl); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()) ==
        "FASTGPU_COMM_WIRE mixed does not go with NCCL: its gradients are decoded before they are "
        "added, which is left to sums in float32");
  CHECK_NOTHROW(check_allowed(codec_of(WireType::mixed, 2), Exchange::nccl));
  CHECK_NOTHROW(check_allowed(codec_of(WireType::float16, 9), Exchange::nccl));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
