#include "comm/transports/shared_stores.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "comm/transports/faster_way.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using Way = FasterWay::Way;

/// Plays a period of ten in which a byte takes so long each way. Returns the ways.
std::vector<Way> played(FasterWay& choice, std::chrono::nanoseconds usual,
                        std::chrono::nanoseconds other) {
  std::vector<Way> ways;
  for (int i = 0; i < 10; ++i) {
    ways.push_back(choice.next());
    choice.done(1, ways.back() == Way::usual ? usual : other);
  }
  return ways;
}

TEST_SUITE_BEGIN("comm/shared_stores");

TEST_CASE("each way is tried twice, and the rest goes by the faster one") {
  FasterWay choice(10, 2);
  const std::vector<Way> other = {Way::usual, Way::other, Way::usual, Way::other, Way::other,
                                  Way::other, Way::other, Way::other, Way::other, Way::other};
  CHECK(played(choice, 30ns, 10ns) == other);
  CHECK(choice.chosen() == Way::other);
}

TEST_CASE("the other way must be faster by what it is to be worth") {
  FasterWay choice(10, 2);
  played(choice, 30ns, 16ns);
  CHECK(choice.chosen() == Way::usual);
}

TEST_CASE("a choice is made again in each period") {
  FasterWay choice(10, 2);
  played(choice, 30ns, 10ns);
  played(choice, 30ns, 20ns);
  CHECK(choice.chosen() == Way::usual);
  played(choice, 90ns, 20ns);
  CHECK(choice.chosen() == Way::other);
}

TEST_CASE("one slow trial of two decides nothing") {
  FasterWay choice(10, 2);
  choice.done(1, 5000ns);  // Another program has had the core.
  choice.done(1, 10ns);
  choice.done(1, 15ns);
  choice.done(1, 10ns);
  CHECK(choice.chosen() == Way::usual);
}

TEST_CASE("what is stored is the same by each way, and nothing beside it is touched") {
  SharedStores stores;
  for (int round = 0; round < 600; ++round)
    for (const std::size_t bytes : {0, 100, 2000, 9001, 100'003}) {
      const std::vector<std::byte> from(bytes, static_cast<std::byte>(round + 1));
      std::vector<std::byte> to(bytes + 128, std::byte{0});
      stores.store(std::span(to).subspan(64, bytes), from);
      const bool is_same = std::ranges::equal(std::span(to).subspan(64, bytes), from);
      const bool is_alone = std::ranges::count(to, static_cast<std::byte>(round + 1)) ==
                                static_cast<std::ptrdiff_t>(bytes) ||
                            round % 256 == 255;
      REQUIRE(is_same);
      REQUIRE(is_alone);
    }
}

TEST_CASE("a message that is reduced is reduced, and one for a place that was read is stored") {
  SharedStores stores;
  std::vector<float> here(10'000, 1.0F);
  const std::vector<float> there(10'000, 2.0F);
  MessageSink sink{std::as_writable_bytes(std::span(here))};
  sink.reduction = Reduction{ElementType::float32, ReduceOp::sum};
  stores.put(sink, 0, std::as_bytes(std::span(there)));
  CHECK(here.back() == 3.0F);
  sink.reduction.reset();
  sink.was_read_by_others = true;
  stores.put(sink, 4, std::as_bytes(std::span(there).first(5000)));
  CHECK(here.front() == 3.0F);
  CHECK(here[1] == 2.0F);
  CHECK(here[5000] == 2.0F);
  CHECK(here[5001] == 3.0F);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
