#include "comm/simulator/simulator.hpp"

#include <doctest/doctest.h>

#include <bit>

#include "base/error.hpp"
#include "comm/gradients/step_state.hpp"
#include "comm/schedule/all_reduce.hpp"
#include "comm/schedule/doubling.hpp"
#include "comm/schedule/ring.hpp"
#include "comm/schedule/tree.hpp"
#include "comm/simulator/formulas.hpp"
#include "comm/simulator/negotiation.hpp"

using namespace fastgpu::comm;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kCount = 1 << 20;  ///< Elements of 4 bytes, unless a test says otherwise.
constexpr double kBytes = 4.0 * kCount;

NetworkModel network() {
  return {.inside = {.latency = 1us, .flow = gigabytes(8), .shared = gigabytes(32)},
          .across = {.latency = 20us, .flow = gigabits(10), .shared = gigabits(10)},
          .per_message = 2us,
          .reduce = gigabytes(10),
          .copy = gigabytes(10)};
}

Simulated one_rank_a_node(int ranks) {
  return {
      .topology = filled_nodes(ranks, 1), .network = network(), .element_bytes = 4, .period = 0};
}

double seconds(const Simulated& simulated, const ProgramOf& program_of) {
  return simulate(simulated, program_of).duration.count();
}

ProgramOf ring(int ranks, Cut cut = {}) {
  return [=](Rank self) { return all_reduce_by_ring({self.value, ranks}, kCount, cut); };
}

ProgramOf one_message(const Piece& piece) {
  return [=](Rank self) {
    Program program;
    Writer writer(program);
    if (self.value == 0) writer.send(1, piece);
    if (self.value == 1) writer.receive(0, piece);
    return program;
  };
}

/// Rank 0 sends to rank 1 on as many lanes, each its part of the data.
ProgramOf many_lanes(int lanes) {
  return [=](Rank self) {
    Program program;
    Writer writer(program);
    for (const Piece& piece : pieces_of(whole_of(kCount), {.pieces = lanes, .lanes = lanes}))
      if (self.value == 0) {
        writer.send(1, piece);
      } else {
        writer.receive(0, piece);
      }
    return program;
  };
}

}  // namespace

TEST_CASE(
    "a message alone takes its latency, its bytes at the rate of the flow, and both processors") {
  const double expected = 20e-6 + 2 * 2e-6 + gigabits(10).to_move(kBytes).count();
  CHECK(seconds(one_rank_a_node(2), one_message({whole_of(kCount), 0})) ==
        doctest::Approx(expected));
}

TEST_CASE("a ring takes 2(n-1)(alpha + S/n/beta) and the reductions") {
  for (const int ranks : {2, 4, 16, 32})
    CHECK(seconds(one_rank_a_node(ranks), ring(ranks)) ==
          doctest::Approx(ring_time(ranks, kBytes, network()).count()).epsilon(0.001));
}

TEST_CASE("recursive doubling takes log2 n (alpha + S/beta) and the reductions") {
  for (const int ranks : {2, 8, 64}) {
    const auto programs = [=](Rank self) {
      return all_reduce_by_recursive_doubling({self.value, ranks}, kCount);
    };
    // Half of the ranks copy the result out of scratch at the end; all are done after a copy.
    const double expected = recursive_doubling_time(ranks, kBytes, network()).count();
    const double taken = seconds(one_rank_a_node(ranks), programs);
    CHECK(taken >= doctest::Approx(expected).epsilon(0.001));
    CHECK(taken <=
          doctest::Approx(expected + network().copy.to_move(kBytes).count()).epsilon(0.001));
  }
}

TEST_CASE("halving and doubling takes 2 log2 n steps and the bytes of a ring") {
  constexpr int kRanks = 16;
  const NetworkModel net = network();
  const double slices = kBytes * (kRanks - 1) / kRanks;
  const Seconds expected = 8 * (net.across.latency + 2 * net.per_message) +
                           2 * net.across.flow.to_move(slices) + net.reduce.to_move(slices);
  CHECK(seconds(one_rank_a_node(kRanks), [](Rank self) {
          return all_reduce_by_halving_and_doubling({self.value, kRanks}, kCount, {});
        }) == doctest::Approx(expected.count()).epsilon(0.001));
}

TEST_CASE("ranks that begin late make those wait that need them, and no others") {
  Simulated simulated = one_rank_a_node(3);
  simulated.starts = {1s, 0s, 0s};
  const Forecast forecast = simulate(simulated, one_message({whole_of(kCount), 0}));
  const double message = 20e-6 + 2 * 2e-6 + gigabits(10).to_move(kBytes).count();
  CHECK(forecast.ends[1].count() == doctest::Approx(1 + message));
  CHECK(forecast.ends[0].count() == doctest::Approx(1 + message - 20e-6 - 2e-6));
  CHECK(forecast.ends[2] == Seconds{});
}

TEST_CASE("pieces hide the reduction behind the transfer") {
  const Simulated simulated = one_rank_a_node(8);
  CHECK(seconds(simulated, ring(8, {.pieces = 8, .lanes = 1})) < seconds(simulated, ring(8)));
}

TEST_CASE("flows that are capped share a link that is not, until it is full") {
  Simulated simulated = one_rank_a_node(2);
  simulated.network.across = {.latency = 0us, .flow = gigabits(0.3), .shared = gigabits(1)};
  const auto megabits = [&](int lanes) {
    return 8e-6 * kBytes / seconds(simulated, many_lanes(lanes));
  };
  CHECK(megabits(1) == doctest::Approx(300).epsilon(0.01));
  CHECK(megabits(2) == doctest::Approx(600).epsilon(0.03));
  CHECK(megabits(4) == doctest::Approx(1000).epsilon(0.04));
  CHECK(megabits(8) == doctest::Approx(1000).epsilon(0.04));
}

TEST_CASE("two networks of unequal speed carry a message together at the sum of their rates") {
  Simulated simulated = one_rank_a_node(2);
  simulated.network.across = {.latency = 50us, .flow = gigabits(1), .shared = gigabits(1)};
  simulated.beside = {{.latency = 50us, .flow = gigabits(0.3), .shared = gigabits(0.3)}};
  const NetworkModel sum = together(simulated.network, simulated.beside);
  CHECK(sum.across.shared == gigabits(1.3));
  const double limit = 50e-6 + 2 * 2e-6 + sum.across.flow.to_move(kBytes).count();
  const double taken = seconds(simulated, one_message({whole_of(kCount), 0}));
  CHECK(taken >= limit);
  // The last quantum of the slower network is at most a thirty-second of the message.
  CHECK(taken <= limit + gigabits(0.3).to_move(kBytes / 32).count());
}

TEST_CASE("several cards of a node are as one with all their lanes") {
  for (const int cards : {2, 4, 8}) {
    Simulated simulated = one_rank_a_node(8);
    simulated.beside.assign(static_cast<std::size_t>(cards - 1), simulated.network.across);
    const NetworkModel sum = together(simulated.network, simulated.beside);
    const double taken = seconds(simulated, ring(8));
    CHECK(taken >= doctest::Approx(ring_time(8, kBytes, sum).count()).epsilon(0.001));
    // A slice of 512 KiB has eight quanta, which the cards cannot always share evenly.
    CHECK(taken <= seconds(one_rank_a_node(8), ring(8)));
    CHECK(taken <= 1.3 * ring_time(8, kBytes, sum).count());
  }
}

TEST_CASE("a short message goes by the network that brings it first") {
  Simulated simulated = one_rank_a_node(2);
  simulated.network.across = {.latency = 25us, .flow = gigabits(32), .shared = gigabits(32)};
  const double by_tcp = seconds(simulated, one_message({whole_of(16), 0}));
  simulated.beside = {{.latency = 3us, .flow = gigabits(100), .shared = gigabits(100)}};
  CHECK(seconds(simulated, one_message({whole_of(16), 0})) ==
        doctest::Approx(by_tcp - 22e-6).epsilon(0.01));
  simulated.beside = {{.latency = 300us, .flow = gigabits(0.1), .shared = gigabits(0.1)}};
  CHECK(seconds(simulated, one_message({whole_of(16), 0})) == doctest::Approx(by_tcp));
}

TEST_CASE("messages by several networks are reduced in their order, and all of them end") {
  Simulated simulated = one_rank_a_node(9);
  simulated.beside = {{.latency = 300us, .flow = gigabits(3), .shared = gigabits(3)},
                      {.latency = 1us, .flow = gigabits(25), .shared = gigabits(25)}};
  const Cut cut{.pieces = 4, .lanes = 2};
  const double taken = seconds(simulated, ring(9, cut));
  CHECK(taken < seconds(one_rank_a_node(9), ring(9, cut)));
  CHECK(taken == seconds(simulated, ring(9, cut)));
  simulated.beside.assign(8, simulated.network.across);
  CHECK_THROWS_AS(simulate(simulated, ring(9)), fastgpu::Error);
}

TEST_CASE("many senders to one node share its way in") {
  constexpr int kRanks = 5;
  const auto gather = [](Rank self) {
    return coordinated_negotiation({self.value, kRanks}, {kCount, 0});
  };
  Simulated simulated = one_rank_a_node(kRanks);
  simulated.element_bytes = 1;
  simulated.network.reduce = gigabytes(1e6);
  const double expected = gigabits(10).to_move(double(kCount) * (kRanks - 1)).count();
  CHECK(seconds(simulated, gather) == doctest::Approx(expected).epsilon(0.02));
}

TEST_CASE("ranks of one node share its way out, and its memory among themselves") {
  const auto pairs = [](int apart) {
    return [=](Rank self) {
      Program program;
      Writer writer(program);
      if (self.value % 4 < apart && self.value < 4)
        writer.send(self.value + apart, {whole_of(kCount), 0});
      if (self.value >= apart && self.value < 2 * apart)
        writer.receive(self.value - apart, {whole_of(kCount), 0});
      return program;
    };
  };
  Simulated simulated{
      .topology = filled_nodes(8, 4), .network = network(), .element_bytes = 4, .period = 0};
  CHECK(seconds(simulated, pairs(4)) ==
        doctest::Approx(gigabits(10).to_move(4 * kBytes).count()).epsilon(0.02));
  simulated.network.inside.shared = gigabytes(8);
  CHECK(seconds(simulated, pairs(2)) ==
        doctest::Approx(gigabytes(8).to_move(2 * kBytes).count()).epsilon(0.05));
}

TEST_CASE("running the ranks of one period gives what running all gives") {
  struct Case {
    Algorithm algorithm;
    int ranks;
    int per_node;
  };
  for (const auto& [algorithm, ranks, per_node] :
       {Case{Algorithm::ring, 12, 1}, Case{Algorithm::ring, 12, 3}, Case{Algorithm::direct, 16, 4},
        Case{Algorithm::hierarchical, 16, 4}}) {
    Simulated simulated{.topology = filled_nodes(ranks, per_node),
                        .network = network(),
                        .element_bytes = 4,
                        .period = 0};
    const SchedulePlan plan{.algorithm = algorithm,
                            .cut = {.pieces = 2, .lanes = 2},
                            .leaders = 0,
                            .across = Algorithm::ring};
    const auto program_of = [&](Rank self) {
      return all_reduce(plan, self, simulated.topology, 48 << 14);
    };
    const double all = seconds(simulated, program_of);
    simulated.period = per_node;
    CHECK(seconds(simulated, program_of) == doctest::Approx(all).epsilon(0.001));
  }
}

TEST_CASE("repeated runs are equal to the last bit") {
  const Simulated simulated = one_rank_a_node(9);
  CHECK(seconds(simulated, ring(9, {.pieces = 3, .lanes = 2})) ==
        seconds(simulated, ring(9, {.pieces = 3, .lanes = 2})));
}

TEST_CASE("a forecast counts messages, and the bytes of the busiest rank") {
  const Forecast forecast = simulate(one_rank_a_node(8), ring(8));
  CHECK(forecast.messages == 8 * 2 * 7);
  CHECK(forecast.most_bytes_sent == std::uint64_t(kBytes) * 14 / 8);
  CHECK(forecast.most_bytes_received == forecast.most_bytes_sent);
}

TEST_CASE(
    "a coordinator receives every rank's request, and without one no rank receives more than "
    "others") {
  constexpr int kRanks = 64;
  Simulated simulated = one_rank_a_node(kRanks);
  simulated.element_bytes = 1;
  const Forecast coordinated = simulate(simulated, [](Rank self) {
    return coordinated_negotiation({self.value, kRanks}, {.request = 14883, .response = 5340});
  });
  const std::vector<Program> ours = negotiation_of_a_step(kRanks, 161);
  const Forecast alike =
      simulate(simulated, [&](Rank self) { return ours[static_cast<std::size_t>(self.value)]; });
  CHECK(coordinated.most_bytes_received == 63 * 14883);
  CHECK(alike.most_bytes_received == 6 * Summary::kBytes);
  CHECK(alike.most_bytes_sent == 6 * Summary::kBytes);
  CHECK(alike.duration < coordinated.duration);
}

TEST_CASE("the library's own negotiation is what is simulated, for any number of ranks") {
  for (int ranks = 1; ranks <= 33; ++ranks) {
    const std::vector<Program> programs = negotiation_of_a_step(ranks, 5);
    const auto rounds = std::bit_width(static_cast<unsigned>(ranks - 1));
    for (const Program& program : programs)
      CHECK(program.steps.size() == 2 * static_cast<std::size_t>(rounds));
    const Forecast forecast = simulate(one_rank_a_node(ranks), [&](Rank self) {
      return programs[static_cast<std::size_t>(self.value)];
    });
    CHECK(forecast.messages == static_cast<std::uint64_t>(ranks * rounds));
  }
}

TEST_CASE("programs that wait for each other are an error") {
  const auto wait = [](Rank self) {
    Program program;
    Writer writer(program);
    writer.receive(1 - self.value, {whole_of(1), 0});
    writer.send(1 - self.value, {whole_of(1), 0});
    return program;
  };
  CHECK_THROWS_AS(simulate(one_rank_a_node(2), wait), fastgpu::Error);
}
