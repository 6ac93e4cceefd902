#include "comm/multistep/empty_rounds.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fastgpu::comm {
namespace {

TEST_SUITE_BEGIN("comm/multistep/empty_rounds");

TEST_CASE("few of the rounds to which a rank gives nothing are reported, however many there are") {
  EmptyRounds rounds;
  std::vector<std::uint32_t> reported;
  for (int round = 0; round < 60; ++round) {
    rounds.count_share(true);
    if (rounds.left_out_to_report() > 0) reported.push_back(rounds.left_out_to_report());
  }
  CHECK(reported == std::vector<std::uint32_t>{3, 6, 12, 24, 48});
}

TEST_CASE("a round to which a rank gives something begins the count anew") {
  EmptyRounds rounds;
  for (const bool gives_nothing : {true, true, false, true, true})
    rounds.count_share(gives_nothing);
  CHECK(rounds.left_out_to_report() == 0);
  rounds.count_share(true);
  CHECK(rounds.left_out_to_report() == 3);
}

TEST_CASE("rounds that are skipped in a row are reported with the rank of the last one") {
  EmptyRounds rounds;
  CHECK_FALSE(rounds.count_result(Rank{1}));
  CHECK_FALSE(rounds.count_result(Rank{1}));
  CHECK(rounds.count_result(Rank{2}) ==
        "multistep: the last 3 rounds were skipped, and all ranks have lost their steps: rank 2 "
        "has numbers that are not finite");
  CHECK_FALSE(rounds.count_result(std::nullopt));
  CHECK_FALSE(rounds.count_result(Rank{1}));
}

TEST_CASE("each rank that has given nothing has a warning") {
  CHECK(warnings_of_left_out(std::vector<std::uint32_t>{0, 0}).empty());
  const auto warnings = warnings_of_left_out(std::vector<std::uint32_t>{0, 3, 0, 12});
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0] ==
        "multistep: rank 1 gave nothing to the last 3 rounds: it has left out its steps, such as "
        "for gradients that are not finite");
  CHECK(warnings[1].find("rank 3 gave nothing to the last 12 rounds") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
