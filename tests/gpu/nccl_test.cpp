#include "comm/gpu/nccl.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "gpu/device_list.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm::gpu {
namespace {

using enum ElementType;

/// Null where NCCL is not installed.
std::unique_ptr<NcclLibrary> installed() {
  try {
    return std::make_unique<NcclLibrary>();
  } catch (const Error& e) {
    REQUIRE(e.kind() == ErrorKind::not_found);
    return nullptr;
  }
}

TEST_SUITE_BEGIN("gpu/nccl");

TEST_CASE("a job of one keeps its values in every collective") {
  const auto library = installed();
  if (library == nullptr) return;
  NcclCommunicator ranks(*library, Rank{0}, 1, [](std::span<std::byte>) {});
  for (const ElementType type : {float32, float64, float16, bfloat16, int32, int64, int8, uint8}) {
    for (const ReduceOp op :
         {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max, ReduceOp::product}) {
      CAPTURE(std::string(name_of(op)) + " of " + std::string(name_of(type)));
      test::DeviceBytes data(4096, int8, 0, 1);
      fill_async(data.span(), std::byte{0x3c}, nullptr);
      const auto before = data.download();
      const DeviceBuffer scattered(4096);
      const GpuStream stream;
      ranks.all_reduce(data.span(), {type, op}, stream.handle());
      ranks.broadcast(data.span(), Rank{0}, stream.handle());
      ranks.reduce_scatter(data.span(), scattered.span(), {type, op}, stream.handle());
      ranks.all_gather(scattered.span(), data.span(), stream.handle());
      stream.synchronize();
      ranks.check_health();
      CHECK(data.download() == before);
    }
  }
}

TEST_CASE("lengths that do not fit are refused") {
  const auto library = installed();
  if (library == nullptr) return;
  NcclCommunicator ranks(*library, Rank{0}, 1, [](std::span<std::byte>) {});
  const DeviceBuffer data(10);
  const auto span = data.span();
  CHECK(test::failure_of([&] { ranks.all_reduce(span, {float32}, nullptr); }).kind() ==
        ErrorKind::usage);
  CHECK(test::failure_of([&] { ranks.all_gather(span.first(3), span, nullptr); }).kind() ==
        ErrorKind::usage);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm::gpu
