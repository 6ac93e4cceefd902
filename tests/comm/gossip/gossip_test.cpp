// Gossip between ranks: averages that stay, nodes that reduce first, checkpoints, and what is
// refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "comm/gossip/gossip.hpp"
#include "comm/gossip/gossip_state.hpp"
#include "comm/gossip/topology_file.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::failure_in;
using test::failure_of;
using test::mentions;
using test::outcomes_of_ranks;
using test::run_ranks;

using Numbers = std::vector<float>;
using SavedState = std::vector<std::byte>;

GossipSettings settings_with(const std::string& topology, std::optional<CodecChoice> codec = {}) {
  GossipSettings settings;
  settings.topology = gossip_topology(topology);
  settings.codec = codec;
  return settings;
}

GossipSettings directed() {
  GossipSettings settings;
  settings.topology = {
      .kind = TopologyKind::file,
      .graphs = parse_graphs("0 -> 1\n1 -> 2\n2 -> 3\n3 -> 0\n0 -> 2\nstep\n2 - 1\n3 -> 1\n0 -> 3"),
      .text = "./directed"};
  return settings;
}

const CodecChoice kTenPercent{CodecId::top_k, 0.1};

/// The parameters of a small model on one rank, in lengths that no node divides. Codecs leave those
/// of 1 and 3 numbers alone.
class GossipModel {
 public:
  static constexpr std::size_t kLengths[] = {1, 1333, 3, 1250};

  GossipModel(Communicator& comm, const GossipSettings& settings, GradientEvents* events = nullptr)
      : gossip(comm, settings, events), random_(static_cast<unsigned>(comm.rank().value)) {
    for (const std::size_t length : kLengths)
      values.emplace_back(length);
    for (std::size_t i = 0; i < values.size(); ++i)
      gossip.add("p" + std::to_string(i), values[i]);
  }

  /// A local step of training, at random but the same in each run.
  void move(std::uint64_t step, int rank) {
    random_.seed(static_cast<unsigned>(step * 1000 + static_cast<unsigned>(rank)));
    normal_.reset();
    for (Numbers& each : values)
      for (float& number : each)
        number += normal_(random_);
  }

  Numbers joined() const {
    Numbers all;
    for (const Numbers& each : values)
      all.insert(all.end(), each.begin(), each.end());
    return all;
  }

  std::vector<Numbers> values;
  Gossip gossip;

 private:
  std::mt19937 random_;
  std::normal_distribution<float> normal_;
};

std::size_t index_of_rank(const Communicator& comm) {
  return static_cast<std::size_t>(comm.rank().value);
}

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

TEST_CASE("training goes on from a saved state to the last bit") {
  struct Row {
    GossipSettings settings;
    int ranks;
    int ranks_per_node;
  };
  const Row rows[] = {{settings_with("ring"), 3, 1},
                      {settings_with("ring", kTenPercent), 4, 1},
                      {settings_with("ring", CodecChoice{CodecId::int8}), 4, 2},
                      {settings_with("hypercube", CodecChoice{CodecId::one_bit}), 4, 1},
                      {settings_with("random:3:changing"), 5, 1},
                      {directed(), 4, 1}};
  for (const Row& row : rows)
    for (const std::uint64_t saved_after : {0U, 1U, 7U, 8U, 9U, 12U}) {
      CAPTURE(row.settings.topology.text);
      CAPTURE(saved_after);
      constexpr std::uint64_t kSteps = 26;
      auto ranks =
          communicators_in_process(row.ranks, 20s, SharedMemory::on, 1, row.ranks_per_node);
      const auto size = static_cast<std::size_t>(row.ranks);
      std::vector<Numbers> wanted(size);
      std::vector<Numbers> found(size);
      run_ranks(ranks, [&](Communicator& comm) {
        const std::size_t self = index_of_rank(comm);
        SavedState state;
        std::vector<Numbers> values;
        {
          GossipModel model(comm, row.settings);
          for (std::uint64_t step = 0; step < kSteps; ++step) {
            if (step == saved_after) {
              state = model.gossip.saved_state();
              values = model.values;
            }
            model.move(step, comm.rank().value);
            model.gossip.step();
          }
          wanted[self] = model.joined();
        }
        GossipModel again(comm, row.settings);
        again.gossip.load_state(state);
        for (std::size_t i = 0; i < values.size(); ++i)
          std::ranges::copy(values[i], again.values[i].begin());
        for (std::uint64_t step = saved_after; step < kSteps; ++step) {
          again.move(step, comm.rank().value);
          if (again.gossip.step().step != step) throw std::runtime_error("another step");
        }
        found[self] = again.joined();
      });
      CHECK(found == wanted);
    }
}

TEST_CASE("a saved state of something else, or a damaged one, is refused and changes nothing") {
  auto ranks = communicators_in_process(2, 20s);
  std::vector<SavedState> states(2);
  run_ranks(ranks, [&](Communicator& comm) {
    GossipModel model(comm, settings_with("ring", kTenPercent));
    for (std::uint64_t step = 0; step < 9; ++step) {
      model.move(step, comm.rank().value);
      model.gossip.step();
    }
    states[index_of_rank(comm)] = model.gossip.saved_state();
    if (failure_of([&] { model.gossip.load_state(states[index_of_rank(comm)]); }).kind() !=
        ErrorKind::usage)
      throw std::runtime_error("loaded after the first step");
  });
  const auto refusal = [&](const GossipSettings& settings, const SavedState& state) {
    GossipModel model(ranks[0], settings);
    const Error e = failure_of([&] { model.gossip.load_state(state); });
    CHECK(e.kind() == ErrorKind::usage);
    model.gossip.add("one more", {});  // Still as before.
    return std::string(e.what());
  };
  const GossipSettings same = settings_with("ring", kTenPercent);
  CHECK(refusal(same, states[1]).find("rank 1 of 2, not of rank 0 of 2") != std::string::npos);
  CHECK(refusal(settings_with("ring"), states[0]).find("FASTGPU_COMM_WIRE") != std::string::npos);
  CHECK(refusal(settings_with("hypercube", kTenPercent), states[0]).find("FASTGPU_COMM_TOPOLOGY") !=
        std::string::npos);
  GossipSettings changed = same;
  changed.step_size = 0.5;
  CHECK(refusal(changed, states[0]) ==
        "a saved state of gossip is that of another FASTGPU_COMM_GOSSIP_STEP");
  changed = same;
  changed.guard = 4;
  CHECK(refusal(changed, states[0]) ==
        "a saved state of gossip is that of another FASTGPU_COMM_GUARD");
  changed = same;
  changed.is_exact = true;
  CHECK(refusal(changed, states[0]) ==
        "a saved state of gossip is that of another FASTGPU_COMM_EXCHANGE");
  {
    GossipSettings recorded = same;  // A timeline changes no number.
    recorded.timeline = "timeline";
    GossipModel model(ranks[0], recorded);
    CHECK_NOTHROW(model.gossip.load_state(states[0]));
  }
  {
    Numbers other(4);
    Gossip gossip(ranks[0], same);
    gossip.add("other", other);
    CHECK(mentions(failure_of([&] { gossip.load_state(states[0]); }), "other parameters"));
  }
  for (std::size_t length = 0; length < states[0].size(); length += 13)
    refusal(same, SavedState(states[0].begin(), states[0].begin() + static_cast<long>(length)));
  for (std::size_t at = 0; at < 8 * states[0].size(); at += 29) {
    SavedState flipped = states[0];
    flipped[at / 8] ^= std::byte{1} << at % 8;
    CAPTURE(at);
    refusal(same, flipped);
  }
  SavedState longer = states[0];
  longer.push_back({});
  CHECK(refusal(same, longer).find("more follows") != std::string::npos);
  SavedGossip saved = decode_gossip(states[0]);
  CHECK(encode(saved) == states[0]);
  saved.numbers.pop_back();
  CHECK(refusal(same, encode(saved)).find("numbers instead of") != std::string::npos);
  saved = decode_gossip(states[0]);
  saved.numbers[5] = std::numeric_limits<float>::infinity();
  CHECK(refusal(same, encode(saved)).find("not finite") != std::string::npos);
  saved = decode_gossip(states[0]);
  saved.guard.rung = 1000;
  CHECK(refusal(same, encode(saved)).find("unknown way of mixing") != std::string::npos);
}

TEST_CASE("a rank with other settings, parameters or another checkpoint is named by all") {
  struct Row {
    GossipSettings odd;
    std::string sentence;
    std::size_t more = 0;  ///< Further parameters.
  };
  const GossipSettings usual = settings_with("ring", kTenPercent);
  Row rows[] = {{settings_with("ring"), "rank 2 has another FASTGPU_COMM_WIRE than rank 0"},
                {settings_with("ring", CodecChoice{CodecId::top_k, 0.2}), "FASTGPU_COMM_WIRE"},
                {settings_with("random:2", kTenPercent), "another FASTGPU_COMM_TOPOLOGY"},
                {usual, "rank 2 has registered other parameters than rank 0", 1},
                {usual, "rank 2 has another FASTGPU_COMM_GOSSIP_STEP than rank 0: all"},
                {usual, "rank 2 has another FASTGPU_COMM_GUARD than rank 0: all"},
                {usual, "rank 2 has another FASTGPU_COMM_EXCHANGE than rank 0: all"},
                {usual, "rank 2 has another FASTGPU_COMM_TIMELINE than rank 0: all"}};
  rows[4].odd.step_size = 0.5;
  rows[5].odd.guard = 4;
  rows[6].odd.is_exact = true;
  rows[7].odd.timeline = "timeline";
  for (const Row& row : rows) {
    CAPTURE(row.sentence);
    auto ranks = communicators_in_process(3, 20s);
    const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
      const bool is_odd = comm.rank() == Rank{2};
      GossipModel model(comm, is_odd ? row.odd : usual);
      Numbers further(3);
      if (is_odd && row.more > 0) model.gossip.add("further", further);
      model.gossip.step();
    });
    for (const auto& outcome : outcomes) {
      const Error e = failure_in(outcome);
      CHECK(e.kind() == ErrorKind::usage);
      CHECK(mentions(e, row.sentence));
    }
  }
  auto ranks = communicators_in_process(3, 20s);
  const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
    SavedState state;
    {
      GossipModel model(comm, usual);
      for (std::uint64_t step = 0; step < 4; ++step) {
        if (step == (comm.rank() == Rank{1} ? 2U : 3U)) state = model.gossip.saved_state();
        model.gossip.step();
      }
    }
    GossipModel again(comm, usual);
    again.gossip.load_state(state);
    again.gossip.step();
  });
  for (const auto& outcome : outcomes)
    CHECK(mentions(failure_in(outcome), "rank 1 continues after 2 steps, and rank 0 after 3"));
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
