// Gossip between ranks: averages that stay, nodes that reduce first, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "comm/gossip/gossip.hpp"
#include "comm/gossip/gossip_model.hpp"
#include "comm/gossip/topology_file.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::directed;
using test::failure_in;
using test::failure_of;
using test::GossipModel;
using test::index_of_rank;
using test::kTenPercent;
using test::mentions;
using test::outcomes_of_ranks;
using test::run_ranks;
using test::settings_with;

using Numbers = std::vector<float>;

std::vector<double> mean_of(const std::vector<Numbers>& all) {
  std::vector<double> mean(all.front().size());
  for (const Numbers& each : all)
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += each[i] / static_cast<double>(all.size());
  return mean;
}

double largest_of(const std::vector<double>& one, const std::vector<double>& other) {
  double most = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    most = std::max(most, std::abs(one[i] - other[i]));
  return most;
}

TEST_SUITE_BEGIN("comm/gossip");

TEST_CASE("the first step averages exactly, and every later one keeps the average of all ranks") {
  struct Row {
    int ranks;
    int ranks_per_node;
  };
  const GossipSettings rows_of[] = {settings_with("ring"),
                                    settings_with("one-peer-exponential"),
                                    settings_with("random:3:changing"),
                                    settings_with("hypercube", kTenPercent),
                                    settings_with("ring", CodecChoice{CodecId::int8}),
                                    settings_with("ring", CodecChoice{CodecId::one_bit})};
  for (const Row& row :
       {Row{1, 1}, Row{2, 1}, Row{3, 1}, Row{4, 2}, Row{5, 2}, Row{6, 2}, Row{6, 3}})
    for (const GossipSettings& settings : rows_of) {
      CAPTURE(row.ranks);
      CAPTURE(row.ranks_per_node);
      CAPTURE(settings.topology.text);
      auto ranks =
          communicators_in_process(row.ranks, 20s, SharedMemory::on, 1, row.ranks_per_node);
      constexpr std::uint64_t kSteps = 20;
      using History = std::vector<std::vector<Numbers>>;  // By step, then by rank.
      const auto size = static_cast<std::size_t>(row.ranks);
      History before(kSteps, std::vector<Numbers>(size));
      History after = before;
      std::vector<std::vector<GossipReport>> reports(size);
      run_ranks(ranks, [&](Communicator& comm) {
        GossipModel model(comm, settings);
        const std::size_t self = index_of_rank(comm);
        for (std::uint64_t step = 0; step < kSteps; ++step) {
          model.move(step, comm.rank().value);
          before[step][self] = model.joined();
          reports[self].push_back(model.gossip.step());
          after[step][self] = model.joined();
        }
      });
      for (std::uint64_t step = 0; step < kSteps; ++step) {
        CAPTURE(step);
        CHECK(largest_of(mean_of(before[step]), mean_of(after[step])) < 5e-6);
        const GossipReport& report = reports[0][step];
        CHECK(report.step == step);
        for (std::size_t rank = 1; rank < size; ++rank) {
          CHECK(reports[rank][step].distance == report.distance);
          CHECK(reports[rank][step].rung == report.rung);
          if (report.is_exact) CHECK(after[step][rank] == after[step][0]);
        }
      }
      CHECK(reports[0][0].is_exact);
      const bool has_nodes = row.ranks_per_node > 1 && row.ranks % row.ranks_per_node == 0;
      if (!has_nodes) continue;
      for (std::size_t rank = 0; rank < size; ++rank)  // Ranks of a node have the same.
        CHECK(after.back()[rank] ==
              after.back()[rank - rank % static_cast<std::size_t>(row.ranks_per_node)]);
    }
}

TEST_CASE("plain averaging between ranks is the product with the weights") {
  auto ranks = communicators_in_process(5, 20s);
  std::vector<Numbers> before(5);
  std::vector<Numbers> after(5);
  run_ranks(ranks, [&](Communicator& comm) {
    GossipModel model(comm, settings_with("ring"));
    model.gossip.step();
    model.move(1, comm.rank().value);
    before[index_of_rank(comm)] = model.joined();
    const GossipReport report = model.gossip.step();
    after[index_of_rank(comm)] = model.joined();
    if (report.bytes < 2 * 2587 * sizeof(float)) throw std::runtime_error("bytes are not counted");
  });
  for (std::size_t rank = 0; rank < 5; ++rank)
    for (std::size_t i = 0; i < before[rank].size(); ++i) {
      const double wanted = (before[rank][i] + static_cast<double>(before[(rank + 1) % 5][i]) +
                             before[(rank + 4) % 5][i]) /
                            3;
      CHECK(after[rank][i] == doctest::Approx(wanted).epsilon(1e-5).scale(1));
    }
}

TEST_CASE("with a codec, parameters of few numbers are averaged as they are") {
  auto ranks = communicators_in_process(4, 20s);
  const Numbers few_at_first = {1, 2, 3};
  std::vector<Numbers> few(4, few_at_first), many(4, Numbers(2000, 1));
  std::vector<std::uint64_t> bytes(4);
  run_ranks(ranks, [&](Communicator& comm) {
    const std::size_t self = index_of_rank(comm);
    Gossip gossip(comm, settings_with("ring", kTenPercent));
    gossip.add("many", many[self]);
    gossip.add("few", few[self]);
    gossip.step();
    for (Numbers* each : {&few[self], &many[self]})
      for (float& number : *each)
        number += static_cast<float>(self);
    bytes[self] = gossip.step().bytes;
  });
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const double moved = static_cast<double>(rank + (rank + 1) % 4 + (rank + 3) % 4) / 3;
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(few[rank][i] == doctest::Approx(few_at_first[i] + moved));
    if (rank % 3 == 0) CHECK(many[rank][0] != doctest::Approx(1 + moved));
    CHECK(bytes[rank] < 2 * 2003 * sizeof(float) / 4);
  }
}

TEST_CASE("push-sum between ranks leads all to the average in directed graphs that change") {
  auto ranks = communicators_in_process(4, 20s);
  std::vector<Numbers> begin(4);
  std::vector<Numbers> end(4);
  run_ranks(ranks, [&](Communicator& comm) {
    GossipModel model(comm, directed());
    model.gossip.step();
    model.move(1, comm.rank().value);
    begin[index_of_rank(comm)] = model.joined();
    for (int i = 0; i < 80; ++i)
      model.gossip.step();
    end[index_of_rank(comm)] = model.joined();
  });
  const auto mean = mean_of(begin);
  for (const Numbers& each : end)
    CHECK(largest_of(mean, {each.begin(), each.end()}) < 1e-3);
}

TEST_CASE("by all_reduce each step averages exactly") {
  auto ranks = communicators_in_process(3, 20s);
  std::vector<Numbers> after(3);
  GossipSettings settings;
  settings.is_exact = true;
  run_ranks(ranks, [&](Communicator& comm) {
    GossipModel model(comm, settings);
    for (std::uint64_t step = 0; step < 3; ++step) {
      model.move(step, comm.rank().value);
      if (!model.gossip.step().is_exact) throw std::runtime_error("a step is not exact");
    }
    after[index_of_rank(comm)] = model.joined();
  });
  CHECK(after[0] == after[1]);
  CHECK(after[0] == after[2]);
}

TEST_CASE("long parameters are mixed in stretches, of which few are on their way at a time") {
  constexpr std::size_t kLong = 5 * (std::size_t{1} << 20U) + 12'345;
  for (const auto& settings : {settings_with("ring"), settings_with("ring", kTenPercent)}) {
    auto ranks = communicators_in_process(2, 60s);
    std::vector<Numbers> after(2);
    run_ranks(ranks, [&](Communicator& comm) {
      Numbers values(kLong);
      Gossip gossip(comm, settings);
      gossip.add("long", values);
      gossip.step();
      for (std::size_t i = 0; i < kLong; ++i)
        values[i] = static_cast<float>((i * 7919 + index_of_rank(comm) * 31) % 1000);
      gossip.step();
      after[index_of_rank(comm)] = std::move(values);
    });
    double worst = 0;
    for (std::size_t i = 0; i < kLong; ++i) {
      const auto wanted = static_cast<double>(i * 7919 % 1000 + (i * 7919 + 31) % 1000);
      worst = std::max(worst, std::abs(static_cast<double>(after[0][i]) + after[1][i] - wanted));
    }
    CHECK(worst < 1e-3);
  }
}

TEST_CASE("a rank leaves a timeline and counters of its steps of gossip") {
  const test::TempDirectory folder;
  GossipSettings settings = settings_with("ring", kTenPercent);
  settings.timeline = folder.path() / "t";
  settings.counters = folder.path() / "c";
  auto ranks = communicators_in_process(3, 20s);
  std::vector<std::uint64_t> bytes(3);
  run_ranks(ranks, [&](Communicator& comm) {
    GossipModel model(comm, settings);
    for (std::uint64_t step = 0; step < 9; ++step) {
      model.move(step, comm.rank().value);
      bytes[index_of_rank(comm)] += model.gossip.step().bytes;
    }
  });
  const auto read = [&](const std::string& name) {
    std::stringstream text;
    text << std::ifstream(folder.path() / name).rdbuf();
    return text.str();
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  for (int rank = 0; rank < 3; ++rank) {
    const std::string name = "rank-" + std::to_string(rank);
    const std::string counters = read("c/" + name + ".json");
    CHECK(has(counters, "\"gossip_steps\": 9"));
    CHECK(has(counters,
              "\"gossip_bytes\": " + std::to_string(bytes[static_cast<std::size_t>(rank)])));
    CHECK(has(counters, "\"gossip_distance\": "));
    CHECK(has(read("c/" + name + ".prom"), "# TYPE fastgpu_comm_gossip_distance gauge"));
    const std::string timeline = read("t/" + name + ".json");
    CHECK(has(timeline, "\"name\":\"exact average\""));
    CHECK(has(timeline, "\"name\":\"mix by "));
  }
}

TEST_CASE("settings that do not fit the ranks are refused before anything is sent") {
  auto ranks = communicators_in_process(4, 5s);
  GossipSettings settings = settings_with("exponential", kTenPercent);
  CHECK(mentions(failure_of([&] { Gossip gossip(ranks[0], settings); }), "It goes with ring"));
  settings = {};
  settings.topology = {
      .kind = TopologyKind::file, .graphs = parse_graphs("0 - 1\n2 - 3"), .text = "./parts"};
  CHECK(mentions(failure_of([&] { Gossip gossip(ranks[0], settings); }), "0, 1 | 2, 3"));
}

TEST_CASE("parameters are registered once, and before the first step") {
  auto ranks = communicators_in_process(1, 5s);
  Numbers values(3);
  Gossip gossip(ranks[0]);
  gossip.add("weight", values);
  CHECK(mentions(failure_of([&] { gossip.add("weight", values); }), "'weight'"));
  gossip.step();
  CHECK(failure_of([&] { gossip.add("bias", values); }).kind() == ErrorKind::usage);
}

TEST_CASE("a parameter that is not finite ends the job on all ranks, with its rank and place") {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    auto ranks = communicators_in_process(3, 20s);
    const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
      GossipModel model(comm, settings_with("ring", kTenPercent));
      model.gossip.step();
      if (comm.rank() == Rank{1}) model.values[1][17] = bad;
      for (int i = 0; i < 100; ++i)
        model.gossip.step();
    });
    for (const auto& outcome : outcomes)
      CHECK(mentions(failure_in(outcome), "parameter 'p1' of rank 1 is not finite at index 17"));
  }
}

TEST_CASE("a rank that ends between steps is named by its neighbours") {
  for (const auto& codec : {std::optional<CodecChoice>(), std::optional(kTenPercent)}) {
    auto own = test::able_to_leave(communicators_in_process(3, 5s, SharedMemory::off));
    const auto outcomes = outcomes_of_ranks(own, [&](std::optional<Communicator>& comm) {
      {
        GossipModel model(*comm, settings_with("ring", codec));
        const int steps = comm->rank() == Rank{1} ? 3 : 1000;
        for (int step = 0; step < steps; ++step)
          model.gossip.step();
      }
      comm.reset();
    });
    CHECK(mentions(failure_in(outcomes[0]), "rank 1"));
    CHECK(mentions(failure_in(outcomes[2]), "rank 1"));
    CHECK(mentions(failure_in(outcomes[2]), " of gossip ("));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
