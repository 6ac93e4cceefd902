#include "comm/gpu/staged.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "gpu/device_list.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm::gpu {
namespace {

using enum ElementType;
using test::Counts;
using test::DeviceTensors;

/// Small whole numbers, whose sums every type holds.
void fill_with_small(DeviceTensors& tensors) {
  float value = 0;
  for (const Tensor& tensor : tensors.on_host()) {
    for (std::size_t i = 0; i < tensor.count; ++i) {
      value = value > 30 ? -30 : value + 1;
      std::memcpy(tensor.data + i * sizeof(float), &value, sizeof(value));
    }
  }
  tensors.upload();
}

/// As if three other ranks had contributed the same.
void times_four(std::span<std::byte> data, Reduction reduction) {
  const std::vector<std::byte> mine(data.begin(), data.end());
  for (int rank = 1; rank < 4; ++rank)
    reduce_into(data, mine, reduction);
  finish(data, reduction, 4);
}

TEST_SUITE_BEGIN("gpu/staged");

TEST_CASE("tensors on the device are summed by way of the host, in whatever chunks") {
  std::mt19937_64 random(1);
  for (const ElementType wire : {float32, float16, bfloat16}) {
    for (const std::size_t chunk_bytes :
         {std::size_t{64}, std::size_t{4096}, std::size_t{1 << 22}}) {
      CAPTURE(std::string(name_of(wire)) + " in chunks of " + std::to_string(chunk_bytes));
      const Counts counts{1000, 0, 3, 2049, 517};
      DeviceTensors tensors(counts, float32, 2);
      fill_with_small(tensors);
      StagedAllReduce all_reduce(tensors.on_device(),
                                 {.type = float32, .wire = wire, .chunk_bytes = chunk_bytes});
      const Stream stream;
      for (int step = 0; step < 3; ++step) {
        tensors.upload();
        CHECK(all_reduce.run(ReduceOp::sum, 4, times_four, stream.handle()) == std::nullopt);
        stream.synchronize();
        std::vector<float> sums;
        const auto bytes = tensors.download();
        std::size_t wrong = 0;
        const auto before = tensors.read_only();
        const std::byte* const start = tensors.host().data();
        for (const ConstTensor& tensor : before) {
          for (std::size_t i = 0; i < tensor.count; ++i) {
            float was = 0;
            float is = 0;
            std::memcpy(&was, tensor.data + i * sizeof(float), sizeof(float));
            std::memcpy(&is, bytes.data() + (tensor.data - start) + i * sizeof(float),
                        sizeof(float));
            wrong += is != 4 * was;
          }
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("an average of what all ranks have is what they have") {
  DeviceTensors tensors({5000, 7}, float32, 2);
  fill_with_small(tensors);
  StagedAllReduce all_reduce(tensors.on_device(), {.type = float32, .wire = float16});
  const Stream stream;
  all_reduce.run(ReduceOp::average, 4, times_four, stream.handle());
  stream.synchronize();
  CHECK(tensors.download() == tensors.host());
}

TEST_CASE("a rank's own NaN is told") {
  DeviceTensors tensors({50, 60}, float32, 2);
  fill_with_small(tensors);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(tensors.on_host()[1].data + 17 * sizeof(float), &nan, sizeof(nan));
  tensors.upload();
  StagedAllReduce all_reduce(tensors.on_device(), {.type = float32, .wire = float16});
  const Stream stream;
  CHECK(all_reduce.run(ReduceOp::sum, 4, times_four, stream.handle()) == NonFinite{1, 17});
}

TEST_CASE("types that cannot travel as each other are refused") {
  const Error e = test::failure_of([] { StagedAllReduce({}, {.type = int32, .wire = float16}); });
  CHECK(e.kind() == ErrorKind::usage);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm::gpu
