#include "transfer/pace.hpp"

#include <doctest/doctest.h>

namespace fastgpu::transfer {
namespace {

using namespace std::chrono_literals;

TEST_SUITE_BEGIN("transfer/pace");

TEST_CASE("bytes take eight times their number of bits") {
  CHECK(time_for(1'000'000, {8'000'000}) == 1s);
  CHECK(time_for(0, {8'000'000}) == 0s);
  CHECK(time_for(125'000'000'000, {1'000'000'000}) == 1000s);
}

TEST_CASE("whoever is stopped waits no longer, however slow the rate is") {
  Cancel cancel;
  cancel.request();
  Pace pace(BitRate{1});
  pace.pass(1 << 30, cancel);  // Some 270 years otherwise.
  Pace free(std::nullopt);
  free.pass(1 << 30, Cancel{});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
