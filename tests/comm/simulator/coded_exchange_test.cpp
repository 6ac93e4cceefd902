#include "comm/simulator/coded_exchange.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "comm/simulator/formulas.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kGradients = 100ULL << 20;
constexpr std::uint64_t kPlaces = 8;

/// Nodes whose links alone take time.
Simulated nodes_of_eight(int nodes) {
  return {.topology = filled_nodes(nodes * static_cast<int>(kPlaces), static_cast<int>(kPlaces)),
          .network = {.inside = {.latency = {}, .flow = {1e30}, .shared = {1e30}},
                      .across = {.latency = 20us, .flow = gigabits(10), .shared = gigabits(10)},
                      .per_message = {},
                      .reduce = {1e30},
                      .copy = {1e30}}};
}

SimulatedCodec codec(const char* text, CodecSpeed speed = {{1e30}, {1e30}}) {
  return {*codec_choice(text), speed};
}

/// Returns the bytes of the codes of a node, one for each of its ranks.
double code_bytes(const char* text, std::uint64_t bytes) {
  return static_cast<double>(make_codec(*codec_choice(text))->encoded_bytes(bytes / kPlaces / 4) *
                             kPlaces);
}

TEST_SUITE_BEGIN("comm/simulator/coded_exchange");

TEST_CASE("a node sends the codes of the largest numbers to every other node") {
  for (const int nodes : {2, 8, 64}) {
    const auto forecast =
        simulate_sum_of_codes(nodes_of_eight(nodes), codec("topk:0.01"), kGradients);
    const double expected = (nodes - 1) * code_bytes("topk:0.01", kGradients);
    CHECK(static_cast<double>(forecast.bytes_out) == doctest::Approx(expected));
    CHECK(forecast.duration.count() == doctest::Approx(expected / 1.25e9).epsilon(0.05));
  }
}

TEST_CASE("a dense code takes two rounds, whose bytes hardly depend on the number of nodes") {
  for (const int nodes : {8, 64, 512}) {
    const auto forecast = simulate_sum_of_codes(nodes_of_eight(nodes), codec("int8"), kGradients);
    const double rounds = 2.0 * (nodes - 1) / nodes;
    CHECK(static_cast<double>(forecast.bytes_out) ==
          doctest::Approx(rounds * code_bytes("int8", kGradients)).epsilon(0.02));
  }
  const auto two = simulate_sum_of_codes(nodes_of_eight(2), codec("int8"), kGradients);
  CHECK(static_cast<double>(two.bytes_out) == doctest::Approx(code_bytes("int8", kGradients)));
}

TEST_CASE("encoding and adding keep processors busy") {
  const Simulated simulated = nodes_of_eight(4);
  const auto alone = simulate_sum_of_codes(simulated, codec("topk:0.01"), kGradients);
  const auto busy = simulate_sum_of_codes(
      simulated, codec("topk:0.01", {gigabytes(2), gigabytes(0.5)}), kGradients);
  const double slice = static_cast<double>(kGradients) / kPlaces;
  const double expected = slice / 2e9 + 4 * code_bytes("topk:0.01", kGradients) / kPlaces / 0.5e9;
  CHECK((busy.duration - alone.duration).count() == doctest::Approx(expected).epsilon(0.01));
}

TEST_CASE("a step of gossip takes as long at any number of nodes") {
  const GossipTopology ring = gossip_topology("ring");
  const auto few = simulate_gossip(nodes_of_eight(8), ring, {}, kGradients);
  for (const int nodes : {64, 512}) {
    const auto many = simulate_gossip(nodes_of_eight(nodes), ring, {}, kGradients);
    CHECK(many.bytes_out == few.bytes_out);
    CHECK(many.duration.count() == doctest::Approx(few.duration.count()));
  }
  CHECK(few.bytes_out == 2 * kGradients);
  CHECK(few.duration.count() == doctest::Approx(2.0 * kGradients / 1.25e9).epsilon(0.01));
  const auto one_peer =
      simulate_gossip(nodes_of_eight(64), gossip_topology("one-peer-exponential"), {}, kGradients);
  CHECK(one_peer.bytes_out == kGradients);
}

TEST_CASE("gossip sends codes to its neighbours alone") {
  const auto forecast =
      simulate_gossip(nodes_of_eight(64), gossip_topology("ring"), codec("topk:0.01"), kGradients);
  CHECK(static_cast<double>(forecast.bytes_out) ==
        doctest::Approx(2 * code_bytes("topk:0.01", kGradients)));
}

TEST_CASE("ranks with a node each, and an all-reduce beside them") {
  const Simulated simulated{.topology = filled_nodes(16, 1), .network = nodes_of_eight(2).network};
  const auto all_reduce = simulate_all_reduce(simulated, kGradients);
  CHECK(static_cast<double>(all_reduce.bytes_out) ==
        doctest::Approx(2.0 * 15 / 16 * kGradients).epsilon(0.01));
  const auto codes = simulate_sum_of_codes(simulated, codec("1bit"), kGradients);
  CHECK(codes.duration < all_reduce.duration);
  CHECK(codes.bytes_out < all_reduce.bytes_out / 20);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
