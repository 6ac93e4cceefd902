#include "launcher/ends_needed.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace fastgpu::launcher {
namespace {

using Ids = std::vector<std::string>;

/// Returns what is needed if the end of `enough` jobs gives room, whichever they are.
EndsNeeded needed(const Ids& holders, std::size_t enough) {
  return ends_needed(holders,
                     [&](std::span<const std::string> ended) { return ended.size() >= enough; });
}

TEST_SUITE_BEGIN("launcher/ends_needed");

TEST_CASE("the end of one job, of some or of all is needed") {
  CHECK(needed({"a", "b", "c"}, 1) == EndsNeeded::one);
  CHECK(needed({"a", "b", "c"}, 2) == EndsNeeded::some);
  CHECK(needed({"a", "b", "c"}, 3) == EndsNeeded::all);
  CHECK(needed({"a"}, 1) == EndsNeeded::all);
  CHECK(needed({}, 1) == EndsNeeded::all);
}

TEST_CASE("a job whose end gives no room by itself makes it some of them") {
  const auto only_a = [](std::span<const std::string> ended) {
    return ended.size() == 1 && ended[0] == "a";
  };
  CHECK(ends_needed({"a", "b"}, only_a) == EndsNeeded::some);
}

TEST_CASE("messages name the amount") {
  CHECK(words_for({"a-1", "b-1"}, EndsNeeded::all) == "a-1, b-1");
  CHECK(words_for({"a-1", "b-1"}, EndsNeeded::one) == "one of a-1, b-1");
  CHECK(words_for({"a-1", "b-1"}, EndsNeeded::some) == "some of a-1, b-1");
  CHECK(words_for({"a-1"}, EndsNeeded::one) == "a-1");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
