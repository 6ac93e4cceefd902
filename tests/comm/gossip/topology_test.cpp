// Graphs of gossip, their weights and the files that describe them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "comm/gossip/gossip_graphs.hpp"
#include "comm/gossip/gossip_plan.hpp"
#include "comm/gossip/topology_file.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::comm {
namespace {

using test::failure_of;
using test::mentions;

const std::vector<std::string> kTopologies = {
    "ring",     "exponential", "one-peer-exponential", "hypercube",        "random:2", "random:3",
    "random:4", "random:9",    "random:2:changing",    "random:5:changing"};
constexpr int kMostRanksTried = 17;

/// The weights as a matrix of float64: row i has those with which member i adds.
std::vector<std::vector<double>> matrix_of(const Weights& weights) {
  const std::size_t members = weights.rows.size();
  std::vector<std::vector<double>> matrix(members, std::vector<double>(members));
  for (std::size_t i = 0; i < members; ++i) {
    matrix[i][i] = weights.rows[i].own;
    for (const auto& [member, weight] : weights.rows[i].from)
      matrix[i][static_cast<std::size_t>(member)] += weight;
  }
  return matrix;
}

/// Returns whether what members send is what others expect, in every step.
bool are_both_ends_agreed(const Weights& weights) {
  std::size_t sent = 0;
  std::size_t received = 0;
  for (std::size_t i = 0; i < weights.rows.size(); ++i) {
    sent += weights.rows[i].to.size();
    received += weights.rows[i].from.size();
    for (const int to : weights.rows[i].to) {
      const auto& from = weights.rows[static_cast<std::size_t>(to)].from;
      if (std::ranges::find(from, static_cast<int>(i), &MixingRow::From::member) == from.end())
        return false;
    }
  }
  return sent == received;
}

void check_sums(const Weights& weights, bool has_row_sums) {
  const auto matrix = matrix_of(weights);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    double row = 0;
    double column = 0;
    for (std::size_t j = 0; j < matrix.size(); ++j) {
      CHECK(matrix[i][j] >= 0);
      row += matrix[i][j];
      column += matrix[j][i];
    }
    if (has_row_sums) CHECK(row == doctest::Approx(1).epsilon(1e-12));
    CHECK(column == doctest::Approx(1).epsilon(1e-12));
  }
}

TEST_SUITE_BEGIN("comm/gossip/topology");

TEST_CASE("weights are doubly stochastic for 1 to 17 ranks and each topology, in each step") {
  for (const std::string& text : kTopologies) {
    const GossipTopology topology = gossip_topology(text);
    for (int ranks = 1; ranks <= kMostRanksTried; ++ranks) {
      CAPTURE(text);
      CAPTURE(ranks);
      CHECK_NOTHROW(check_topology(topology, ranks));
      for (std::uint64_t step = 0; step < 12; ++step) {
        const Weights weights = checked_weights(topology, ranks, step);
        CHECK(weights.kind != WeightsKind::column_stochastic);
        CHECK(are_both_ends_agreed(weights));
        check_sums(weights, true);
      }
    }
  }
}

TEST_CASE("every topology makes ranks agree, a one-peer exponential one exactly after log2 steps") {
  for (const std::string& text : kTopologies)
    for (const int ranks : {2, 3, 7, 8, 16, 17}) {
      CAPTURE(text);
      CAPTURE(ranks);
      const GossipTopology topology = gossip_topology(text);
      std::vector<Weights> round;
      for (std::size_t step = 0; step < period_of(topology, ranks); ++step)
        round.push_back(checked_weights(topology, ranks, step));
      CHECK(contraction_of(round) < 0.98);
    }
  const GossipTopology one_peer = gossip_topology("one-peer-exponential");
  std::vector<Weights> round;
  for (std::size_t step = 0; step < 3; ++step)
    round.push_back(checked_weights(one_peer, 8, step));
  CHECK(contraction_of(round) < 0.01);
}

TEST_CASE("the contraction of a ring is its second eigenvalue") {
  for (const int ranks : {4, 8, 16}) {
    const Weights weights = checked_weights(gossip_topology("ring"), ranks, 0);
    const double wanted = 1.0 / 3 + 2.0 / 3 * std::cos(2 * M_PI / ranks);
    CHECK(contraction_of(std::span(&weights, 1)) == doctest::Approx(wanted).epsilon(0.01));
  }
}

TEST_CASE("random graphs have about K neighbours, the same for everyone, and change if asked to") {
  const GossipTopology fixed = gossip_topology("random:4");
  const GossipTopology changing = gossip_topology("random:4:changing");
  CHECK(graph_at(fixed, 17, 0) == graph_at(fixed, 17, 5));
  CHECK(graph_at(changing, 17, 4) != graph_at(changing, 17, 5));
  CHECK(graph_at(changing, 17, 4) == graph_at(changing, 17, 4));
  for (const auto& receivers : graph_at(fixed, 17, 0).to) {
    CHECK(receivers.size() >= 2);
    CHECK(receivers.size() <= 4);
  }
  CHECK(is_static(fixed, 17));
  CHECK_FALSE(is_static(changing, 17));
  CHECK(number_of(fixed) != number_of(changing));
  CHECK(number_of(fixed) != number_of(gossip_topology("random:5")));
}

TEST_CASE("a text that names no topology is refused with those that there are") {
  for (const std::string text :
       {"", "rings", "random", "random:", "random:1", "random:65", "random:4:", "random:4:often",
        "random:4.5", "random:-4", "exponential "}) {
    CAPTURE(text);
    const Error e = failure_of([&] { gossip_topology(text); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(mentions(e, "FASTGPU_COMM_TOPOLOGY is '" + text + "', not "));
    CHECK(mentions(e, "random:K"));
  }
}

TEST_CASE("a graph of a file may be directed, and its numbers then keep their sum alone") {
  const auto graphs = parse_graphs("# three\n0 -> 1\n 1 -> 2 # on\n2 -> 0\r\n0 -> 2\n");
  REQUIRE(graphs.size() == 1);
  const Weights weights = weights_of(graphs[0]);
  CHECK(weights.kind == WeightsKind::column_stochastic);
  CHECK(deviation_of(weights) < 1e-12);
  CHECK(weights.rows[0].own == doctest::Approx(1.0 / 3));
  check_sums(weights, false);
}

TEST_CASE("a directed graph with as many senders as receivers is doubly stochastic") {
  const Weights weights = weights_of(parse_graphs("0 -> 1\n1 -> 2\n2 -> 0\n0 - 3")[0]);
  CHECK(weights.kind == WeightsKind::doubly_stochastic);
  CHECK(deviation_of(weights) < 1e-12);
  check_sums(weights, true);
}

TEST_CASE("weights that do not add up are noticed") {
  Weights weights = weights_of(parse_graphs("0 - 1\n1 - 2")[0]);
  CHECK(deviation_of(weights) < 1e-12);
  weights.rows[0].from[0].weight += 0.1;
  CHECK(deviation_of(weights) == doctest::Approx(0.1));
  weights.rows[0].own -= 0.1;  // The row adds up again, but not the column.
  CHECK(deviation_of(weights) == doctest::Approx(0.1));
}

TEST_CASE("graphs of several steps follow each other") {
  const GossipTopology topology{.kind = TopologyKind::file,
                                .graphs = parse_graphs("0 - 1\n2 - 3\nstep\n1 - 2\n3 - 0\n"),
                                .text = "./two"};
  CHECK(period_of(topology, 4) == 2);
  CHECK(graph_at(topology, 4, 0) == graph_at(topology, 4, 2));
  CHECK(graph_at(topology, 4, 0).to[0] == std::vector<int>{1});
  CHECK(graph_at(topology, 4, 1).to[0] == std::vector<int>{3});
  CHECK_NOTHROW(check_topology(topology, 4));
  CHECK_FALSE(is_static(topology, 4));
}

TEST_CASE("a graph that is not connected is refused with its components") {
  struct Row {
    std::string_view text;
    int members;
    std::string_view sentence;
  };
  const Row rows[] = {
      {"0 - 1\n2 - 3", 4, "0, 1 | 2, 3"},
      {"0 - 1\n3 - 1", 4, "0, 1, 3 | 2"},
      {"0 -> 1\n1 -> 2\n2 -> 1", 3, "0 | 1, 2"},
      {"0 - 1\nstep\n2 - 3\n", 4, "0, 1 | 2, 3"},
      {"0 - 1", 3, "members up to 1, and the job has 3"},
      {"0 - 9", 3, "members up to 9, and the job has 3"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const GossipTopology topology{
        .kind = TopologyKind::file, .graphs = parse_graphs(row.text), .text = "./g"};
    const Error e = failure_of([&] { check_topology(topology, row.members); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(mentions(e, "FASTGPU_COMM_TOPOLOGY ./g"));
    CHECK(mentions(e, row.sentence));
  }
}

TEST_CASE("many components are shortened") {
  const std::vector<std::vector<int>> many = {
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {10}, {11}, {12}, {13}, {14}};
  CHECK(describe(many) == "0, 1, 2, 3, 4, 5, 6, 7 and 2 more | 10 | 11 | 12 | 2 more");
}

TEST_CASE("a line that is no edge is refused with its number") {
  struct Row {
    std::string_view text;
    std::string_view sentence;
  };
  const Row rows[] = {
      {"", "it has no line like '0 - 1'"},
      {"# nothing\n", "it has no line like '0 - 1'"},
      {"0 - 1\nstep\n", "line 2: 'step' without a line like '0 - 1' after it"},
      {"step\n0 - 1", "line 1: 'step' without a line like '0 - 1' before it"},
      {"0 - 1\n1", "line 2: '1'"},
      {"0 - 1\n1 - ", "line 2: '1 -'"},
      {"0 - -1", "line 1: '0 - -1'"},
      {"0 <- 1", "line 1"},
      {"0 - 1 - 2", "line 1"},
      {"0 - 4096", "members from 0 to 4095"},
      {"0 - 99999999999999999999", "line 1"},
      {"3 - 3", "line 1: '3 - 3' joins a member with itself"},
      {"a - b", "line 1"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const Error e = failure_of([&] { parse_graphs(row.text); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(mentions(e, row.sentence));
  }
}

TEST_CASE("a file that is too large, missing or no file is refused with its path") {
  CHECK(mentions(failure_of([] { parse_graphs(std::string((1 << 20) + 1, '\n')); }), "1 MiB"));
  std::string steps = "0 - 1\n";
  for (int i = 0; i < 64; ++i)
    steps += "step\n0 - 1\n";
  CHECK(mentions(failure_of([&] { parse_graphs(steps); }), "more than 64 graphs"));

  const test::TempDirectory folder;
  const std::string path = (folder.path() / "graph.txt").string();
  CHECK(mentions(failure_of([&] { gossip_topology(path); }), path));
  CHECK(mentions(failure_of([&] { gossip_topology(folder.path().string()); }), "regular file"));
  std::ofstream(path) << "0 - 1\n1 - 2\n2 - 0\n";
  const GossipTopology topology = gossip_topology(path);
  CHECK(topology.kind == TopologyKind::file);
  CHECK_NOTHROW(check_topology(topology, 3));
}

TEST_CASE("a file with errors at random is refused as a user's mistake, or is a whole graph") {
  const std::string text = "# a ring\n0 - 1\n1 - 2\n2 -> 0\nstep\n0 -> 2\n12 - 3\n";
  constexpr std::string_view kSigns = "0123456789 ->#\n\tstepx";
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = text;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      const std::size_t at = random() % damaged.size();
      const char sign = kSigns[random() % kSigns.size()];
      switch (random() % 3) {
        case 0:
          damaged[at] = sign;
          break;
        case 1:
          damaged.insert(at, 1, sign);
          break;
        default:
          damaged.erase(at, 1 + random() % 5);
      }
    }
    try {
      const auto graphs = parse_graphs(damaged);
      for (const GossipGraph& graph : graphs)
        if (deviation_of(weights_of(graph)) > 1e-9 || graph.size() != graphs[0].size())
          FAIL(damaged);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::usage) FAIL(damaged);
      ++refused;
    }
  }
  CHECK(refused > 1000);
  CHECK(refused < 19'000);
}

TEST_CASE("nodes are the members if each has as many ranks, and ranks otherwise") {
  const GossipSettings settings;
  const GossipPlan flat(settings, filled_nodes(5, 2), {3});
  CHECK(flat.members() == 5);
  CHECK(flat.member() == 3);
  CHECK(flat.places() == 1);
  const GossipPlan levels(settings, filled_nodes(6, 2), {3});
  CHECK(levels.members() == 3);
  CHECK(levels.member() == 1);
  CHECK(levels.places() == 2);
  CHECK(levels.place() == 1);
  const GossipPlan one(settings, filled_nodes(4, 4), {2});
  CHECK(one.members() == 4);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
