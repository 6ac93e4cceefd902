// Gossip that goes on from a saved state, and states and settings that do not fit.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "comm/gossip/gossip.hpp"
#include "comm/gossip/gossip_model.hpp"
#include "comm/gossip/gossip_state.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"

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
using SavedState = std::vector<std::byte>;

TEST_SUITE_BEGIN("comm/gossip");

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
              if (model.gossip.saved_bytes() != state.size())
                throw std::runtime_error("another length");
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

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
