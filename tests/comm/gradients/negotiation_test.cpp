#include "comm/gradients/negotiation.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using test::failure_of;
using Random = std::mt19937;

constexpr std::uint64_t kPlan = 0x1234567890abcdefU;

/// Messages on their way between ranks: those between two ranks keep their order, all else is up to
/// chance.
class Post {
 public:
  void put(Rank from, std::vector<Negotiation::Outgoing> messages) {
    for (auto& message : messages) {
      bytes_[from.value] += message.message.size();
      ++count_[from.value];
      longest_ = std::max(longest_, message.message.size());
      ways_[{from.value, message.to.value}].push_back(std::move(message.message));
    }
  }

  /// Gives what has come to any rank that awaits it; false where nobody awaits anything there is.
  bool deliver_one(std::vector<Negotiation>& ranks, Random& random) {
    std::vector<std::size_t> can;
    for (std::size_t r = 0; r < ranks.size(); ++r)
      if (static_cast<int>(r) != busy && way_to(ranks[r], r) != nullptr) can.push_back(r);
    if (can.empty()) return false;
    const std::size_t rank = can[random() % can.size()];
    auto& plan = *way_to(ranks[rank], rank);
    const auto message = std::move(plan.front());
    plan.pop_front();
    ranks[rank].received(message);
    put({static_cast<int>(rank)}, ranks[rank].take_outgoing());
    return true;
  }

  bool is_empty() const {
    for (const auto& [ends, plan] : ways_)
      if (!plan.empty()) return false;
    return true;
  }
  int busy = -1;  ///< A rank that looks at no messages.

  std::size_t bytes(int rank) { return bytes_[rank]; }
  std::size_t count(int rank) { return count_[rank]; }
  std::size_t longest() const { return longest_; }

 private:
  using Way = std::deque<std::vector<std::byte>>;

  Way* way_to(const Negotiation& negotiation, std::size_t rank) {
    const auto awaited = negotiation.awaited();
    if (!awaited) return nullptr;
    Way& plan = ways_[{awaited->from.value, static_cast<int>(rank)}];
    if (!plan.empty()) REQUIRE(plan.front().size() == awaited->bytes);
    return plan.empty() ? nullptr : &plan;
  }

  std::map<std::pair<int, int>, Way> ways_;
  std::map<int, std::size_t> bytes_;
  std::map<int, std::size_t> count_;
  std::size_t longest_ = 0;
};

GradientSet all_of(std::size_t gradients) {
  GradientSet set(gradients);
  for (std::size_t i = 0; i < gradients; ++i)
    set.add({i});
  return set;
}

struct Job {
  std::vector<Negotiation::Statement> statements;
  std::size_t gradients = 0;
  std::vector<Negotiation> ranks{};
  Post post{};
  Random random{1};

  Job(int size, std::size_t count) : gradients(count) {
    for (int r = 0; r < size; ++r)
      statements.push_back({.mine = {.step = 7, .plan = kPlan, .ready = all_of(count)}});
  }

  int size() const { return static_cast<int>(statements.size()); }

  void begin() {
    for (int r = 0; r < size(); ++r) {
      ranks.emplace_back(Rank{r}, size(), gradients, statements[static_cast<std::size_t>(r)]);
      if (r != post.busy) post.put({r}, ranks.back().take_outgoing());
    }
  }

  /// Until nobody gets any further.
  void deliver_all() {
    while (post.deliver_one(ranks, random)) {
    }
  }

  void run() {
    begin();
    deliver_all();
    for (const Negotiation& rank : ranks)
      REQUIRE_FALSE(rank.awaited());
    REQUIRE(post.is_empty());
  }
};

int rounds(int ranks) {
  int count = 0;
  for (int reached = 1; reached < ranks; reached *= 2)
    ++count;
  return count;
}

TEST_SUITE_BEGIN("comm/gradients/negotiation");

TEST_CASE("a step in which all went well takes one short message a round") {
  for (int size = 1; size <= 130; size += size < 20 ? 1 : 37) {
    Job job(size, 161);
    job.run();
    for (int r = 0; r < size; ++r) {
      const Agreement& agreement = job.ranks[static_cast<std::size_t>(r)].agreement();
      CHECK(agreement.summary.verdicts == Verdicts{});
      CHECK_FALSE(agreement.is_torn());
      CHECK(job.post.count(r) == static_cast<std::size_t>(rounds(size)));
      if (size <= 128) CHECK(job.post.bytes(r) <= 64);
    }
  }
}

TEST_CASE(
    "every rank learns the same of random gaps and reports, in whatever order messages come") {
  Random random(3);
  for (int run = 0; run < 400; ++run) {
    const int size = 1 + static_cast<int>(random() % 9);
    const std::size_t gradients = 1 + random() % 170;
    Job job(size, gradients);
    job.random.seed(random());
    Details expected{all_of(gradients), GradientSet(gradients)};
    for (std::size_t r = 0; r < job.statements.size(); ++r) {
      auto& statement = job.statements[r];
      statement.mine.ready.clear();
      const unsigned density = static_cast<unsigned>(1 + random() % 4);
      for (std::size_t i = 0; i < gradients; ++i)
        if (random() % 4 < density || density == 4) statement.mine.ready.add({i});
      if (random() % 4 == 0) {
        statement.report = {{static_cast<int>(r)}, {random() % gradients}, random(), {}};
        if (!expected.report) expected.report = statement.report;
      }
      expected.ready_on_all &= statement.mine.ready;
      expected.ready_on_any |= statement.mine.ready;
    }
    job.run();
    for (const Negotiation& rank : job.ranks) {
      const Agreement& agreement = rank.agreement();
      CHECK(agreement.details.ready_on_all == expected.ready_on_all);
      CHECK(agreement.details.ready_on_any == expected.ready_on_any);
      CHECK(agreement.details.report == expected.report);
      REQUIRE(agreement.ranks.size() == (agreement.is_torn() ? job.statements.size() : 0));
      for (std::size_t r = 0; r < agreement.ranks.size(); ++r)
        CHECK(agreement.ranks[r].ready == job.statements[r].mine.ready);
    }
    if (gradients <= 161 && job.ranks[0].agreement().ranks.empty()) CHECK(job.post.longest() <= 64);
  }
}

TEST_CASE("one rank's last step is known to all") {
  Job job(6, 3);
  job.statements[2].mine.verdicts.is_leaving = true;
  job.run();
  for (const Negotiation& rank : job.ranks)
    CHECK(rank.agreement().summary.verdicts.is_leaving);
}

TEST_CASE("a rank in another step or with another plan is found by all") {
  for (int size = 2; size <= 9; ++size) {
    for (int odd = 0; odd < size; ++odd) {
      Job job(size, 5);
      auto& mine = job.statements[static_cast<std::size_t>(odd)].mine;
      if (odd % 2 == 0)
        mine.step = 8;
      else
        mine.plan = 1;
      job.run();
      for (const Negotiation& rank : job.ranks) {
        CHECK(rank.agreement().summary.verdicts.differs);
        CHECK(rank.agreement().ranks[static_cast<std::size_t>(odd)].step == mine.step);
        CHECK(rank.agreement().ranks[static_cast<std::size_t>(odd)].plan == mine.plan);
      }
    }
  }
}

TEST_CASE("everybody who waits learns which ranks are late, and with what") {
  for (int size = 2; size <= 17; ++size) {
    for (int late = 0; late < size; ++late) {
      Job job(size, 9);
      const auto place = static_cast<std::size_t>(late);
      RankState state = job.statements[place].mine;
      state.rank = {late};
      state.ready.clear();
      state.ready.add({4});
      state.late_ms = 15;
      job.post.put({late}, late_notices(state, size));
      state.ready.add({5});
      state.late_ms = 30;
      job.post.put({late}, late_notices(state, size));
      job.post.busy = late;
      job.begin();
      job.deliver_all();
      for (int r = 0; r < size; ++r) {
        if (r == late) continue;
        const auto found = job.ranks[static_cast<std::size_t>(r)].take_late();
        INFO("size ", size, ", late ", late, ", rank ", r);
        REQUIRE(found.size() == 2);
        CHECK(found[1].rank == Rank{late});
        CHECK(found[1].ready == state.ready);
        CHECK(found[0].late_ms == 15);
      }

      job.post.busy = -1;
      job.post.put({late}, job.ranks[place].take_outgoing());
      job.deliver_all();
      CHECK(job.post.is_empty());
      for (const Negotiation& rank : job.ranks)
        CHECK_FALSE(rank.awaited());
    }
  }
}

TEST_CASE("bytes that no rank sends are refused with the rank's name") {
  Job job(2, 9);
  job.begin();
  std::vector<std::byte> garbage(Summary::kBytes, std::byte{0x7f});
  const Error e = failure_of([&] { job.ranks[0].received(garbage); });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(std::string(e.what()).find("rank 1: ") == 0);
}

TEST_CASE("decoding never does more than refuse") {
  Random random(5);
  for (int run = 0; run < 20'000; ++run) {
    std::vector<std::byte> bytes(random() % 80);
    for (std::byte& byte : bytes)
      byte = static_cast<std::byte>(random() % 4 == 0 ? random() % 256 : random() % 2);
    const auto tried = [](auto decode) {
      try {
        decode();
      } catch (const Error& e) {
        CHECK(e.kind() == ErrorKind::remote);
      }
    };
    tried([&] { decode_summary(bytes); });
    tried([&] { decode_details(bytes, 9); });
    tried([&] { decode_rank_state(bytes, 9); });
    tried([&] { decode_table(bytes); });
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
