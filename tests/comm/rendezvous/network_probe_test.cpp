// The probe by which ranks choose between a fabric alone and a fabric beside TCP.
#include "comm/rendezvous/network_probe.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "support/connect_in_process.hpp"
#include "support/fabric_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

ProbedPair pair_with(ProbedRate fabric, ProbedRate both) {
  return {.lower = {0}, .higher = {1}, .fabric = fabric, .tcp = {100, 1}, .both = both};
}

bool is_better(const std::vector<ProbedPair>& pairs) {
  return is_hybrid_better(pairs);
}

TEST_SUITE_BEGIN("comm/rendezvous/network_probe");

TEST_CASE(
    "the noise of a rate is half the range of its samples, of many without the lowest and "
    "highest") {
  CHECK(rate_of({}).median == 0);
  const ProbedRate rate = rate_of({100, 1, 90, 120, 110, 1000, 105});
  CHECK(rate.median == 105);
  CHECK(rate.noise == 15);
  CHECK(rate_of({100, 110, 130}).noise == 15);  // Of few samples all count.
  // Two samples show nothing about their noise.
  CHECK(rate_of({100, 110}).least() == 0);
}

TEST_CASE("both networks are taken if they carry more by more than the noise") {
  CHECK(is_better({pair_with({100, 5}, {130, 5})}));
  CHECK_FALSE(is_better({pair_with({100, 5}, {100, 5})}));
  CHECK_FALSE(is_better({pair_with({100, 20}, {130, 15})}));  // The noise is larger than the gain.
  CHECK_FALSE(is_better({pair_with({100, 0}, {109, 0})}));    // The gain is not worth the copies.
  CHECK_FALSE(is_better({pair_with({100, 5}, {90, 5})}));
  CHECK_FALSE(is_better({}));
}

TEST_CASE("the slowest fabric decides, unless another pair would lose") {
  CHECK(is_better({pair_with({1000, 5}, {1002, 5}), pair_with({100, 5}, {200, 5})}));
  CHECK_FALSE(is_better({pair_with({1000, 5}, {2000, 5}), pair_with({100, 5}, {101, 5})}));
  CHECK_FALSE(is_better({pair_with({1000, 5}, {800, 5}), pair_with({100, 5}, {200, 5})}));
}

TEST_CASE("the report names the pair whose fabric is slowest") {
  ProbedJob job{.pairs = {pair_with({2e9, 0}, {3e9, 0}), pair_with({1e8, 0}, {1.5e8, 0})}};
  job.pairs[1].lower = {2};
  job.pairs[1].higher = {4};
  job.pairs[1].tcp = {6e7, 0};
  CHECK(report_of_probe(job, true) ==
        "FASTGPU_COMM_TRANSPORT=auto takes the fabric and TCP together: between ranks 2 and 4 the "
        "fabric carries 100 MB/s, TCP 60 MB/s, both 150 MB/s");
  job.failed = {Rank{4}, ProbeFailure::took_too_long};
  CHECK(report_of_probe(job, false) ==
        "FASTGPU_COMM_TRANSPORT=auto takes the fabric alone, because its probe took too long on "
        "rank 4");
  job.failed = {Rank{4}, ProbeFailure::other};
  CHECK(report_of_probe(job, false) ==
        "FASTGPU_COMM_TRANSPORT=auto takes the fabric alone, because its probe failed on rank 4");
}

TEST_CASE("nodes measure in twos, each by its first rank") {
  const Topology topology{{{{0}, {3}}, {{1}, {2}}, {{4}}}};
  CHECK(probe_partner(topology, {0}) == Rank{1});
  CHECK(probe_partner(topology, {1}) == Rank{0});
  CHECK_FALSE(probe_partner(topology, {2}));
  CHECK_FALSE(probe_partner(topology, {3}));
  CHECK_FALSE(probe_partner(topology, {4}));  // It has no partner.
  CHECK_FALSE(probe_partner(Topology{{{{0}, {1}}}}, {0}));
}

/// Two ranks that measure.
struct ProbingPair {
  ProbingPair() {
    for (int r = 0; r < 2; ++r)
      ranks[r].networks.fabric =
          std::make_unique<FabricTransport>(Rank{r}, 2, wire->endpoint(), std::size_t{0});
    for (int r = 0; r < 2; ++r) {
      ranks[r].rank = {r};
      REQUIRE(ranks[r].networks.fabric->connect({1 - r}, ranks[1 - r].networks.fabric->card()));
    }
    for (const auto connections : {&ProbedNetworks::alone, &ProbedNetworks::beside})
      for (int flow = 0; flow < 2; ++flow) {
        auto [near, far] = test::socket_pair();
        (ranks[0].networks.*connections).push_back(std::move(near));
        (ranks[1].networks.*connections).push_back(std::move(far));
      }
  }

  struct Rates {
    Rank rank{};
    ProbedNetworks networks{};
    ProbedPair measured{};
  };

  auto outcomes(std::chrono::milliseconds limit) {
    return test::outcomes_of_ranks(ranks, [&](Rates& each) {
      each.networks.fabric->meet(Deadline(10s));
      each.measured = measure_networks(each.rank, {1 - each.rank.value}, 2,
                                       std::move(each.networks), Deadline(limit));
    });
  }

  std::shared_ptr<test::FabricWire> wire = std::make_shared<test::FabricWire>();
  std::vector<Rates> ranks = std::vector<Rates>(2);
};

TEST_CASE("a probe measures the fabric, TCP, and both together") {
  ProbingPair pair;
  for (const auto& failure : pair.outcomes(30s))
    CHECK(failure == nullptr);
  const ProbedPair& measured = pair.ranks[0].measured;
  CHECK(measured.lower == Rank{0});
  CHECK(measured.higher == Rank{1});
  for (const ProbedRate& rate : {measured.fabric, measured.tcp, measured.both})
    CHECK(rate.median > 1e6);
  CHECK(pair.ranks[1].measured.tcp.median == 0);  // The lower rank has the result.
}

TEST_CASE("a probe of a network that carries nothing ends at its deadline") {
  ProbingPair pair;
  const auto begin = std::chrono::steady_clock::now();
  test::outcomes_of_ranks(
      pair.ranks, [](ProbingPair::Rates& each) { each.networks.fabric->meet(Deadline(10s)); });
  pair.wire->is_silent = true;
  const auto failures = test::outcomes_of_ranks(pair.ranks, [](ProbingPair::Rates& each) {
    measure_networks(each.rank, {1 - each.rank.value}, 2, std::move(each.networks),
                     Deadline(200ms));
  });
  CHECK(std::chrono::steady_clock::now() - begin < 10s);
  for (const auto& failure : failures)
    CHECK(failure != nullptr);
}

TEST_CASE("all ranks get the same results, in the order of the ranks") {
  auto connections = test::sockets_in_process(3, 20s);
  std::vector<ProbedJob> got(3);
  test::run_ranks(connections, [&](Connections& rank) {
    const auto r = static_cast<std::size_t>(rank.rank.value);
    ProbeResult mine;
    if (r == 1)
      mine.pair = {
          .lower = {1}, .higher = {2}, .fabric = {10.6, 1}, .tcp = {3, 0}, .both = {20, 2}};
    got[r] = exchange_results(rank, mine, Deadline(20s));
  });
  for (const auto& [pairs, failed] : got) {
    CHECK_FALSE(failed);
    REQUIRE(pairs.size() == 1);
    CHECK(pairs.front().lower == Rank{1});
    CHECK(pairs.front().higher == Rank{2});
    CHECK(pairs.front().fabric.median == 10);  // Rounded, on all of them.
    CHECK(pairs.front().both.noise == 2);
  }
}

TEST_CASE("a probe that has failed on one rank has failed on all") {
  for (const auto failure : {ProbeFailure::took_too_long, ProbeFailure::other}) {
    auto connections = test::sockets_in_process(2, 20s);
    std::vector<ProbedJob> got(2);
    test::run_ranks(connections, [&](Connections& rank) {
      ProbeResult mine;
      if (rank.rank == Rank{1}) mine.failure = failure;
      got[static_cast<std::size_t>(rank.rank.value)] = exchange_results(rank, mine, Deadline(20s));
    });
    for (const ProbedJob& job : got)
      CHECK(job.failed == std::pair(Rank{1}, failure));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
