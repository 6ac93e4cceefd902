// All-reduces by an algorithm that the user has named.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/engine/planner.hpp"
#include "support/connect_in_process.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

std::vector<Communicator> naming(const std::vector<Algorithm>& algorithms) {
  auto ranks = test::sockets_in_process(static_cast<int>(algorithms.size()), 10s);
  test::run_ranks(ranks, [&](Connections& rank) {
    rank.algorithm = algorithms[static_cast<std::size_t>(rank.rank.value)];
    introduce(rank, test::wishes(SharedMemory::off, 1), Deadline(10s));
  });
  std::vector<Communicator> communicators;
  for (Connections& rank : ranks)
    communicators.emplace_back(std::move(rank));
  return communicators;
}

Call call_of(std::uint64_t bytes, Algorithm algorithm) {
  return {.kind = CallKind::all_reduce,
          .bytes = bytes,
          .reduction = {ElementType::float32, ReduceOp::sum},
          .plan = {.algorithm = algorithm}};
}

/// Of four ranks.
std::set<Rank> receivers_from_rank_0(std::uint64_t bytes, Algorithm algorithm) {
  std::set<Rank> receivers;
  const Program program = plan_for(call_of(bytes, algorithm), Rank{0}, filled_nodes(4, 1)).program;
  for (const Step& step : program.steps)
    if (step.kind == StepKind::send) receivers.insert(step.peer);
  return receivers;
}

TEST_SUITE_BEGIN("comm/algorithm");

TEST_CASE("a named algorithm is what an all-reduce is planned by, whatever its length") {
  for (const std::uint64_t bytes : {8, 1 << 20}) {
    CHECK(receivers_from_rank_0(bytes, Algorithm::direct) == std::set<Rank>{{1}, {2}, {3}});
    CHECK(receivers_from_rank_0(bytes, Algorithm::ring) == std::set<Rank>{{1}});
  }
}

TEST_CASE("averages by every algorithm are averages") {
  for (const Algorithm algorithm : kAlgorithms)
    for (const std::size_t ranks : {1, 2, 5}) {
      auto communicators = naming(std::vector(ranks, algorithm));
      std::vector<std::vector<float>> values;
      for (std::size_t rank = 0; rank < ranks; ++rank)
        values.emplace_back(20'011, static_cast<float>(rank));
      test::run_ranks(communicators, [&](Communicator& comm) {
        comm.all_reduce(std::span(values[static_cast<std::size_t>(comm.rank().value)]),
                        ReduceOp::average);
      });
      const std::vector<float> expected(20'011, static_cast<float>(ranks - 1) / 2);
      for (const auto& of_rank : values)
        CHECK(of_rank == expected);
    }
}

TEST_CASE("ranks that name different algorithms are told which") {
  auto communicators = naming({Algorithm::ring, Algorithm::tree});
  std::vector<std::string> said(2);
  test::run_ranks(communicators, [&](Communicator& comm) {
    std::vector<float> values(9);
    try {
      comm.all_reduce(std::span(values), ReduceOp::sum);
    } catch (const Error& e) {
      said[static_cast<std::size_t>(comm.rank().value)] = e.what();
    }
  });
  for (const std::string& words : said) {
    CHECK(words.find("(sum of 9 float32 by ring)") != std::string::npos);
    CHECK(words.find("(sum of 9 float32 by tree)") != std::string::npos);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
