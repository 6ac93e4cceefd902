#include "comm/engine/prepared.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "comm/schedule/all_reduce.hpp"
#include "comm/schedule/direct.hpp"

namespace fastgpu::comm {
namespace {

PreparedProgram prepared(Program program) {
  return {std::move(program), Averaging::none,
          std::make_shared<const std::vector<Rank>>(std::vector{Rank{0}, Rank{1}})};
}

TEST_SUITE_BEGIN("comm/prepared");

TEST_CASE("in an all-reduce other ranks have read the place of what comes back") {
  const Topology one{{{Rank{0}, Rank{1}}}};
  const auto program = prepared(
      all_reduce({.algorithm = Algorithm::direct, .cut = {.pieces = 2}}, Rank{0}, one, 1000));
  const auto count = [&](StepKind kind, bool was_read) {
    int found = 0;
    for (std::size_t i = 0; i < program.program.steps.size(); ++i)
      if (program.program.steps[i].kind == kind && program.was_read_by_others[i] == was_read)
        ++found;
    return found;
  };
  CHECK(count(StepKind::receive, true) == 2);
  CHECK(count(StepKind::receive, false) == 0);
  CHECK(count(StepKind::receive_reduce, true) == 0);
}

TEST_CASE("in an all-gather nobody has read the place of what comes") {
  const auto program = prepared(all_gather_blocks({0, 2}, 1000, {}));
  CHECK(std::ranges::count(program.was_read_by_others, true) == 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
