#include "cli/commands/job/topology_placement.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace fastgpu::cli {
namespace {

using Names = std::vector<std::string>;

std::string said(launcher::RankUnit unit, const Names& without, const Names& with) {
  return no_places(unit, {"demo"}, without, with).what();
}

TEST_SUITE_BEGIN("cli/commands/job/topology_placement");

TEST_CASE("nodes without a place for a rank are named, and so is what to do") {
  CHECK(said(launcher::RankUnit::gpu, {"demo-0", "demo-1"}, {}) ==
        "run job: --per gpu: demo-[0-1] have no NVIDIA GPU: leave --per out, or give each rank a "
        "core of its own (--per core)");
  CHECK(said(launcher::RankUnit::gpu, {"demo-0"}, {"demo-1", "demo-2"}) ==
        "run job: --per gpu: demo-0 has no NVIDIA GPU: take the other nodes "
        "(--cluster 'demo/demo-[1-2]')");
  CHECK(said(launcher::RankUnit::numa, {"demo-0"}, {}) ==
        "run job: --per numa: demo-0 has no numa");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
