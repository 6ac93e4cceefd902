#include "comm/bench/device_step.hpp"

#include <doctest/doctest.h>

#include "gpu/fake_device.hpp"

namespace fastgpu::comm::bench {
namespace {

TEST_SUITE_BEGIN("comm/bench");

TEST_CASE("a step on a device is measured beside the copies it needs, and gives all memory back") {
  const auto device = std::make_shared<test::FakeDevice>();
  for (const WireType wire : {WireType::same, WireType::float16}) {
    GradientSettings settings;
    settings.wire = wire;
    const DeviceStep figures = measure_device_step(device, {1000, 3, 1 << 18}, settings);
    CHECK(figures.step > 0);
    CHECK(figures.copies > 0);
  }
  CHECK(device->allocated() + device->pinned() == 0);
}

}  // namespace
}  // namespace fastgpu::comm::bench
