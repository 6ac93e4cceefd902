#include "comm/schedule/dependencies.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

using namespace fastgpu::comm;

namespace {

constexpr Rank kLeft{1};
constexpr Rank kRight{2};

Part data_part(std::uint64_t offset, std::uint64_t count) {
  return {Buffer::data, offset, count};
}

Step send(Rank peer, Part from, std::uint8_t lane = 0) {
  return {.kind = StepKind::send, .peer = peer, .lane = lane, .from = from, .to = {}};
}

Step receive(Rank peer, Part to, std::uint8_t lane = 0) {
  return {.kind = StepKind::receive, .peer = peer, .lane = lane, .from = {}, .to = to};
}

Step reduce(Part to, Part from) {
  return {.kind = StepKind::reduce, .peer = {}, .lane = 0, .from = from, .to = to};
}

std::vector<StepIndex> list(std::span<const StepIndex> steps) {
  return {steps.begin(), steps.end()};
}

using Steps = std::vector<StepIndex>;

}  // namespace

TEST_CASE("a read waits for the writers of what it reads, and a write for the readers") {
  const Program program{.steps = {receive(kLeft, data_part(0, 4)), receive(kLeft, data_part(4, 4)),
                                  send(kRight, data_part(2, 4)), receive(kLeft, data_part(5, 1)),
                                  send(kRight, data_part(0, 2))},
                        .scratch = 0};
  const Dependencies dependencies = dependencies_of(program);
  CHECK(list(dependencies.before[0]) == Steps{});
  CHECK(list(dependencies.before[1]) == Steps{});
  CHECK(list(dependencies.before[2]) == Steps{0, 1});
  CHECK(list(dependencies.before[3]) == Steps{2});
  CHECK(list(dependencies.before[4]) == Steps{0});
  CHECK(list(dependencies.after[0]) == Steps{2, 4});
  CHECK(list(dependencies.after[2]) == Steps{3});
}

TEST_CASE("two reads of one part do not wait for each other") {
  const Dependencies dependencies =
      dependencies_of({.steps = {send(kLeft, data_part(0, 4)), send(kRight, data_part(0, 4)),
                                 receive(kLeft, data_part(0, 9))},
                       .scratch = 0});
  CHECK(list(dependencies.before[1]) == Steps{});
  CHECK(list(dependencies.before[2]) == Steps{0, 1});
}

TEST_CASE("a reduction of a part into itself does not wait for itself") {
  const Dependencies dependencies =
      dependencies_of({.steps = {reduce(data_part(0, 4), data_part(2, 4)),
                                 reduce(data_part(0, 1), data_part(0, 1))},
                       .scratch = 0});
  CHECK(list(dependencies.before[0]) == Steps{});
  CHECK(list(dependencies.before[1]) == Steps{0});
}

TEST_CASE("buffers are apart from each other, and empty parts from everything") {
  const Dependencies dependencies = dependencies_of(
      {.steps = {receive(kLeft, data_part(0, 4)), send(kRight, {Buffer::scratch, 0, 4}),
                 send(kRight, data_part(1, 0)), receive(kLeft, data_part(2, 0))},
       .scratch = 4});
  CHECK(dependencies.before.steps.empty());
  CHECK(dependencies.before.size() == 4);
}

TEST_CASE("a channel is what goes one way to one peer on one lane, in order") {
  const Dependencies dependencies =
      dependencies_of({.steps = {send(kRight, data_part(0, 1)), receive(kRight, data_part(1, 1)),
                                 send(kRight, data_part(2, 1), 1), send(kRight, data_part(3, 1)),
                                 send(kLeft, data_part(3, 1))},
                       .scratch = 0});
  REQUIRE(dependencies.channels.size() == 4);
  REQUIRE(dependencies.on_channel.size() == 4);
  CHECK(dependencies.channels[1] == Channel{kRight, 0, Direction::out});
  CHECK(list(dependencies.on_channel[1]) == Steps{0, 3});
}

TEST_CASE("a program without steps has no dependencies") {
  const Dependencies dependencies = dependencies_of({});
  CHECK(dependencies.before.size() == 0);
  CHECK(dependencies.on_channel.size() == 0);
}
