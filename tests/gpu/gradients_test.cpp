// The gradient exchange with gradients on one GPU; ranks are threads of the test.
#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "comm/gpu/cuda_device.hpp"
#include "gpu/gradients_as_host.hpp"
#include "support/connect_in_process.hpp"

namespace fastgpu::comm::gpu {
namespace {

using test::DeviceValues;
using Floats = std::vector<float>;

GradientSettings staged_with(WireType wire) {
  GradientSettings settings;
  settings.bucket = {1 << 20};
  settings.wire = wire;
  settings.device.path = DevicePath::staged;
  return settings;
}

TEST_SUITE_BEGIN("gpu/gradients");

TEST_CASE("gradients on a GPU have the bits that those of the host have, beside them") {
  constexpr std::size_t kCounts[] = {3, 2'000'003, 17, 1, 300'000, 64};
  for (int size = 1; size <= 4; ++size) {
    for (const WireType wire :
         {WireType::same, WireType::float16, WireType::bfloat16, WireType::mixed}) {
      CAPTURE(size);
      CAPTURE(static_cast<int>(wire));
      std::vector<char> is_same(static_cast<std::size_t>(size), 0);
      auto ranks = test::communicators_in_process(size, std::chrono::seconds(20));
      test::run_ranks(ranks, [&](Communicator& comm) {
        is_same[static_cast<std::size_t>(comm.rank().value)] =
            static_cast<char>(test::gradients_as_the_host(comm, std::make_shared<CudaDevice>(),
                                                          kCounts, staged_with(wire)));
      });
      CHECK(is_same == std::vector<char>(is_same.size(), 1));
    }
  }
}

TEST_CASE("NaN on a GPU is told with its gradient, its rank and its place") {
  std::vector<StepOutcome> outcomes(2);
  auto ranks = test::communicators_in_process(2, std::chrono::seconds(20));
  test::run_ranks(ranks, [&](Communicator& comm) {
    const auto device = std::make_shared<CudaDevice>();
    Floats numbers(3'000'000, 1);
    if (comm.rank() == Rank{1}) numbers[2'500'001] = std::numeric_limits<float>::quiet_NaN();
    const DeviceValues<float> values(*device, numbers);
    GradientSettings settings = staged_with(WireType::float16);
    settings.non_finite = NonFiniteAction::skip;
    GradientExchange exchange(comm, settings);
    const GradientId id =
        exchange.add({.name = "values", .type = ElementType::float32, .shape = {numbers.size()}},
                     values.bytes(), device);
    exchange.ready(id);
    outcomes[static_cast<std::size_t>(comm.rank().value)] = exchange.wait_step();
  });
  for (const StepOutcome& outcome : outcomes) {
    CHECK(!outcome.is_applied);
    CHECK((outcome.non_finite ==
           NonFiniteReport{Rank{1}, GradientId{0}, 2'500'001, NonFiniteReport::Value::nan}));
  }
}

TEST_CASE("a step comes after what its stream holds, and what follows comes after it") {
  constexpr std::size_t kCount = 8 << 20;
  std::vector<Floats> results(2);
  auto ranks = test::communicators_in_process(2, std::chrono::seconds(20));
  test::run_ranks(ranks, [&](Communicator& comm) {
    const auto device = std::make_shared<CudaDevice>();
    const auto stream = stream_of(*device);
    const DeviceValues<float> ones(*device, Floats(kCount, 1));
    const DeviceValues<float> values(*device, Floats(kCount, -1));
    const DeviceValues<float> after(*device, Floats(kCount, -1));
    GradientExchange exchange(comm, staged_with(WireType::same));
    const GradientId id =
        exchange.add({.name = "values", .type = ElementType::float32, .shape = {kCount}},
                     values.bytes(), device);
    exchange.use_operation(ReduceOp::sum);
    for (int i = 0; i < 20; ++i)  // Longer than it takes to get to `ready`.
      device->copy(values.bytes(), ones.bytes(), stream.get());
    exchange.ready(id, stream.get());
    exchange.wait_step(stream.get());
    device->copy(after.bytes(), values.bytes(), stream.get());
    results[static_cast<std::size_t>(comm.rank().value)] = after.read(stream.get());
  });
  CHECK(results == std::vector<Floats>(2, Floats(kCount, 2)));
}

}  // namespace
}  // namespace fastgpu::comm::gpu
