#include "comm/entry/gradient_entry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::failure_of;
using test::outcomes_of_ranks;
using test::run_ranks;
using Random = std::mt19937;

/// Two small gradients, or one, fit into a bucket.
constexpr EntrySettings small_buckets() {
  EntrySettings settings;
  settings.bucket = {128};
  return settings;
}

template <class T>
bool all_are(const std::vector<T>& values, double expected) {
  return std::ranges::all_of(values, [&](T value) { return value == static_cast<T>(expected); });
}

std::size_t index_of(const Communicator& comm) {
  return static_cast<std::size_t>(comm.rank().value);
}

class Sentences : public EntryEvents {
 public:
  void warned(const std::string& sentence) override { all.push_back(sentence); }
  std::vector<std::string> all;
};

TEST_SUITE_BEGIN("comm/entry");

TEST_CASE("every registered gradient is averaged over the ranks, step after step") {
  auto ranks = communicators_in_process(3, 10s);
  std::vector<std::string> failures(ranks.size());

  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> small(2), tiny(1), large(100), other(5);
    std::vector<double> precise(4);
    GradientEntry entry(comm, small_buckets());
    entry.add("small", std::span(small));
    entry.add("tiny", std::span(tiny));
    entry.add("large", std::span(large));
    entry.add("precise", std::span(precise));
    entry.add("other", std::span(other));
    for (int step = 1; step <= 3; ++step) {
      const int mine = step * (comm.rank().value + 1);  // Averages to 2 * step over three ranks.
      for (auto* values : {&small, &tiny, &large, &other})
        values->assign(values->size(), static_cast<float>(mine));
      precise.assign(precise.size(), mine);
      entry.all_reduce_gradients(ReduceOp::average);
      auto& failure = failures[index_of(comm)];
      for (const auto* values : {&small, &tiny, &large, &other})
        if (!all_are(*values, 2 * step)) failure = "float32 in step " + std::to_string(step);
      if (!all_are(precise, 2 * step)) failure = "float64 in step " + std::to_string(step);
    }
  });

  CHECK(failures == std::vector<std::string>(ranks.size()));
}

TEST_CASE("an entry layer without gradients does nothing") {
  auto ranks = communicators_in_process(2, 5s);
  CHECK_NOTHROW(run_ranks(ranks, [](Communicator& comm) {
    GradientEntry(comm).all_reduce_gradients(ReduceOp::average);
  }));
}

TEST_CASE("what cannot be registered, or be ready, is refused") {
  auto ranks = communicators_in_process(1, 1s);
  std::vector<float> values(3);
  GradientEntry entry(ranks[0]);
  const auto kind_of = [&](auto action) { return failure_of(action).kind(); };
  entry.add("weights", std::span(values));
  CHECK(kind_of([&] { entry.add("weights", std::span(values)); }) == ErrorKind::usage);
  CHECK(kind_of([&] {
          entry.add({.name = "more", .shape = {4}}, std::as_writable_bytes(std::span(values)));
        }) == ErrorKind::usage);
  CHECK(kind_of([&] { entry.ready({7}); }) == ErrorKind::usage);
  entry.ready({0});
  CHECK(kind_of([&] { entry.ready({0}); }) == ErrorKind::usage);
  CHECK(kind_of([&] { entry.use_operation(ReduceOp::max); }) == ErrorKind::usage);
  CHECK(kind_of([&] { entry.add("bias", std::span(values)); }) == ErrorKind::usage);
  CHECK(entry.wait_step().is_applied);
}

TEST_CASE("ranks that registered other gradients are told which rank differs, and in what") {
  auto ranks = communicators_in_process(3, 5s);
  const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
    std::vector<float> values(3);
    GradientEntry entry(comm);
    entry.add(comm.rank() == Rank{2} ? "bias" : "weights", std::span(values));
    entry.all_reduce_gradients(ReduceOp::average);
  });
  for (const auto& outcome : outcomes) {
    REQUIRE(outcome);
    const Error e = failure_of([&] { std::rethrow_exception(outcome); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()) ==
          "rank 2 has registered other gradients than rank 0: gradient number 0 is float32 [3] "
          "'bias', not float32 [3] 'weights'");
  }
}

TEST_CASE("a view is where the framework writes and reads, and moves once the order is known") {
  auto ranks = communicators_in_process(2, 5s);
  std::vector<std::string> failures(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    GradientEntry entry(comm);
    const GradientId first = entry.add({.name = "first", .shape = {10}}, {});
    const GradientId second = entry.add({.name = "second", .shape = {100}}, {});
    for (int step = 0; step < 3; ++step) {
      for (const GradientId id : {first, second}) {
        const std::vector<float> mine(entry.table().elements(id),
                                      static_cast<float>(comm.rank().value * 2 + step));
        std::ranges::copy(std::as_bytes(std::span(mine)), entry.view(id).begin());
        entry.ready(id);
      }
      const StepOutcome outcome = entry.wait_step();
      auto& failure = failures[index_of(comm)];
      if (outcome.have_views_moved != (step == 0)) failure = "moved";
      for (const GradientId id : {first, second}) {
        const auto value = *reinterpret_cast<const float*>(entry.view(id).data());
        if (value != static_cast<float>(1 + step)) failure = "value " + std::to_string(value);
      }
    }
  });
  CHECK(failures == std::vector<std::string>(ranks.size()));
}

TEST_CASE("what is ready on no rank is skipped by all, and left as it was") {
  auto ranks = communicators_in_process(4, 5s);
  std::vector<std::string> failures(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> a(50, 1), b(50, 2), c(50, 3);
    GradientEntry entry(comm, small_buckets());
    entry.add("a", std::span(a));
    const GradientId skipped = entry.add("b", std::span(b));
    entry.add("c", std::span(c));
    entry.use_operation(ReduceOp::sum);
    entry.ready({0});
    entry.ready({2});
    const StepOutcome outcome = entry.wait_step();
    auto& failure = failures[index_of(comm)];
    if (outcome.skipped != std::vector{skipped}) failure = "skipped";
    if (!all_are(a, 4) || !all_are(b, 2) || !all_are(c, 12)) failure = "values";
  });
  CHECK(failures == std::vector<std::string>(ranks.size()));
}

TEST_CASE("what is ready on some ranks only is an error that names the others, and may be mended") {
  for (int size = 2; size <= 5; ++size) {
    auto ranks = communicators_in_process(size, 5s);
    std::vector<std::string> said(ranks.size());
    std::vector<float> sums(ranks.size());
    run_ranks(ranks, [&](Communicator& comm) {
      std::vector<float> a(50, 1), b(70, 2), c(50, 3);
      GradientEntry entry(comm, small_buckets());
      for (auto* values : {&a, &b, &c})
        entry.add(std::string(1, static_cast<char>('a' + (values - &a))), std::span(*values));
      entry.use_operation(ReduceOp::sum);
      entry.ready({2});
      if (comm.rank() != Rank{1}) entry.ready({1});
      entry.ready({0});
      try {
        entry.wait_step();
      } catch (const Error& e) {
        said[index_of(comm)] = e.what();
      }
      a.assign(a.size(), 1);
      for (const std::size_t id : {0, 1, 2})
        entry.ready({id});
      entry.wait_step();
      sums[index_of(comm)] = a[49];
    });
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      CHECK(said[r].find("rank 1 has not made ready in step 0: '") == 0);
      CHECK(said[r].find(" of 3 gradients") != std::string::npos);
      CHECK(sums[r] == static_cast<float>(size));
    }
  }
}

TEST_CASE("a rank that leaves ends the training of all") {
  auto ranks = communicators_in_process(3, 5s);
  std::vector<int> steps(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> a(500, 1);
    GradientEntry entry(comm, small_buckets());
    entry.add("a", std::span(a));
    for (bool is_over = false; !is_over; ++steps[index_of(comm)]) {
      if (comm.rank() == Rank{1} && steps[1] == 2) {
        entry.leave();
        return;
      }
      entry.ready({0});
      is_over = entry.wait_step().is_somebody_leaving;
    }
  });
  CHECK(steps == std::vector{3, 2, 3});
}

/// Rank 1 of three makes "a" ready and "b" not before `may_go_on`.
std::vector<Sentences> said_of_a_late_rank(std::chrono::milliseconds stall,
                                           const std::function<void()>& be_late) {
  auto ranks = communicators_in_process(3, 10s);
  std::vector<Sentences> said(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> a(5), b(5);
    EntrySettings settings;
    settings.stall = stall;
    GradientEntry entry(comm, settings, &said[index_of(comm)]);
    entry.add("a", std::span(a));
    entry.add("b", std::span(b));
    entry.ready({0});
    if (comm.rank() == Rank{1}) be_late();
    entry.ready({1});
    entry.wait_step();
  });
  return said;
}

TEST_CASE("who waits is told for which rank, and with what it is late, ever more seldom") {
  const auto said = said_of_a_late_rank(300ms, [] { std::this_thread::sleep_for(1500ms); });
  const std::string late =
      "rank 1 has not made ready in step 0: 'b' of 2 gradients; this rank has ";
  CHECK(said[1].all.empty());
  for (const std::size_t r : {0, 2})
    CHECK(said[r].all == std::vector{late + "waited for 300ms", late + "waited for 900ms"});
}

TEST_CASE("nobody is told of a rank that is not waited for that long") {
  const auto said = said_of_a_late_rank(1s, [] { std::this_thread::sleep_for(100ms); });
  for (const Sentences& each : said)
    CHECK(each.all.empty());
}

TEST_CASE("steps that take all ranks long are nothing to be told of") {
  auto ranks = communicators_in_process(3, 10s);
  std::vector<Sentences> said(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> a(5);
    EntrySettings settings;
    settings.stall = 100ms;
    GradientEntry entry(comm, settings, &said[index_of(comm)]);
    entry.add("a", std::span(a));
    for (int step = 0; step < 2; ++step) {
      std::this_thread::sleep_for(250ms);
      entry.ready({0});
      entry.wait_step();
    }
  });
  for (const Sentences& each : said)
    CHECK(each.all.empty());
}

TEST_CASE("a rank that lingers after others have left breaks nothing by being late") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    auto ranks = communicators_in_process(3, 5s, shared_memory);
    std::vector<std::optional<Communicator>> own;
    for (Communicator& comm : ranks)
      own.emplace_back(std::move(comm));
    std::vector<float> sums(own.size());
    run_ranks(own, [&](std::optional<Communicator>& comm) {
      const Rank rank = comm->rank();
      auto pair = comm->split(rank == Rank{1} ? -1 : 0, 0);
      float sum = 1;
      {
        std::vector<float> a(5);
        EntrySettings settings;
        settings.stall = 20ms;
        GradientEntry entry(*comm, settings);
        entry.add("a", std::span(a));
        entry.all_reduce_gradients(ReduceOp::sum);
        if (rank != Rank{1}) std::this_thread::sleep_for(300ms);
        if (rank != Rank{1}) pair->all_reduce(std::span(&sum, 1), ReduceOp::sum);
      }
      sums[static_cast<std::size_t>(rank.value)] = sum;
      if (rank == Rank{1}) comm.reset();
    });
    CHECK(sums == std::vector{2.0F, 1.0F, 2.0F});
  }
}

TEST_CASE("a rank that leaves may be gone before the others have ended their step") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    for (int run = 0; run < 10; ++run) {
      auto ranks = communicators_in_process(5, 5s, shared_memory);
      std::vector<std::optional<Communicator>> own;
      for (Communicator& comm : ranks)
        own.emplace_back(std::move(comm));
      CHECK_NOTHROW(run_ranks(own, [&](std::optional<Communicator>& comm) {
        std::vector<float> a(5);
        {
          GradientEntry entry(*comm);
          entry.add("a", std::span(a));
          entry.ready({0});
          if (comm->rank().value == run % 5)
            entry.leave();
          else
            entry.wait_step();
        }
        comm.reset();
      }));
    }
  }
}

TEST_CASE("views stay where they are after a step that has failed") {
  auto ranks = communicators_in_process(2, 5s);
  std::vector<float> sums(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    EntrySettings settings;
    settings.non_finite = NonFiniteAction::stop;
    GradientEntry entry(comm, settings);
    for (const char* name : {"a", "b"})
      entry.add({.name = name, .shape = {100}}, {});
    std::array<float*, 2> views{};
    for (std::size_t id = 0; id < 2; ++id)
      views[id] = reinterpret_cast<float*>(entry.view({id}).data());
    // Ready in another order than planned, so that the plan would change after the first step.
    const auto step = [&](float value) {
      for (const std::size_t id : {0, 1}) {
        std::fill_n(views[id], 100, value);
        entry.ready({id});
      }
      return entry.wait_step();
    };
    try {
      step(std::numeric_limits<float>::quiet_NaN());
    } catch (const Error&) {
      step(3);
      sums[index_of(comm)] = views[0][99] + views[1][0];
    }
  });
  CHECK(sums == std::vector{6.0F, 6.0F});
}

TEST_CASE("ranks with other settings are told which rank and which setting") {
  const auto told = [](auto change) {
    auto ranks = communicators_in_process(3, 5s);
    const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
      std::vector<float> values(3);
      EntrySettings settings;
      if (comm.rank() == Rank{1}) change(settings);
      GradientEntry entry(comm, settings);
      entry.add("a", std::span(values));
      entry.all_reduce_gradients(ReduceOp::average);
    });
    std::string what;
    for (const auto& outcome : outcomes) {
      const Error e = failure_of([&] {
        if (outcome) std::rethrow_exception(outcome);
      });
      CHECK(e.kind() == ErrorKind::usage);
      what = e.what();
    }
    return what;
  };
  const std::string same = " than rank 0: all ranks need the same";
  CHECK(told([](EntrySettings& s) { s.lanes = 3; }) ==
        "rank 1 has another FASTGPU_COMM_LANES" + same);
  CHECK(told([](EntrySettings& s) { s.non_finite = NonFiniteAction::skip; }) ==
        "rank 1 has another FASTGPU_COMM_NANCHECK" + same);
  CHECK(told([](EntrySettings& s) { s.wire = WireType::float16; }) ==
        "rank 1 has another FASTGPU_COMM_WIRE" + same);
  CHECK(told([](EntrySettings& s) { s.is_tuned = true; }) ==
        "rank 1 has another FASTGPU_COMM_TUNE" + same);
}

TEST_CASE("ranks with another library are told which rank, and which library it has") {
  auto ranks = communicators_in_process(3, 5s);
  const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
    const GradientTable table;
    const EntrySettings settings;
    check_same_registration(comm, {table, settings, comm.rank() == Rank{2} ? "7.1\x1b" : "7.0"});
  });
  for (const auto& outcome : outcomes) {
    REQUIRE(outcome);
    CHECK(std::string(failure_of([&] { std::rethrow_exception(outcome); }).what()) ==
          "rank 2 runs another libfastgpu_comm than rank 0: 7.1?");
  }
}

TEST_CASE("what ranks say about a step does not grow with gradients, ranks and time") {
  for (int size = 2; size <= 9; ++size) {
    auto ranks = communicators_in_process(size, 20s);
    std::vector<std::uint64_t> bytes(ranks.size());
    constexpr int kSteps = 20;
    run_ranks(ranks, [&](Communicator& comm) {
      std::vector<float> values(10);
      GradientEntry entry(comm);
      for (int i = 0; i < 161; ++i)
        entry.add(std::to_string(i), std::span(values));
      for (int step = 0; step < kSteps; ++step) {
        if (step % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(step));
        entry.all_reduce_gradients(ReduceOp::average);
      }
      bytes[index_of(comm)] = entry.counters().negotiation_bytes;
    });
    for (const std::uint64_t each : bytes) {
      CHECK(each <= 64 * kSteps);
      CHECK(each == bytes[0]);
    }
  }
}

TEST_CASE("a step with more gradients than one short message has room for ends too") {
  auto ranks = communicators_in_process(3, 10s);
  std::vector<std::size_t> skipped(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    GradientEntry entry(comm);
    for (int i = 0; i < 70'000; ++i)
      entry.add({.name = std::to_string(i), .shape = {0}}, {});
    entry.ready({69'999});
    skipped[index_of(comm)] = entry.wait_step().skipped.size();
  });
  CHECK(skipped == std::vector<std::size_t>(3, 69'999));
}

TEST_CASE("mixed adds in float32 what float16 would lose, and leaves the rest in float32") {
  auto ranks = communicators_in_process(9, 20s);
  std::vector<std::string> failures(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> large(1003, comm.rank() == Rank{0} ? 2048.0F : 1.0F);
    std::vector<float> small(3, comm.rank() == Rank{0} ? 1.0F : 1e-6F);
    EntrySettings settings;
    settings.wire = WireType::mixed;
    settings.small = {100};
    settings.bucket = {640};
    GradientEntry entry(comm, settings);
    entry.add("large", std::span(large));
    entry.add("small", std::span(small));
    entry.all_reduce_gradients(ReduceOp::sum);
    if (!all_are(large, 2056)) failures[index_of(comm)] = "large";
    if (std::abs(small[2] - 1.000008F) > 2e-7F) failures[index_of(comm)] = "small";
  });
  CHECK(failures == std::vector<std::string>(ranks.size()));
}

TEST_CASE("tuning changes all ranks together, ends, and is kept for the next job") {
  const test::TempDirectory folder;
  EntrySettings settings;
  settings.is_tuned = true;
  settings.cache = (folder.path() / "cache").string();
  for (int job = 0; job < 2; ++job) {
    auto ranks = communicators_in_process(3, 20s);
    std::vector<std::string> failures(ranks.size());
    std::vector<int> moves(ranks.size());
    run_ranks(ranks, [&](Communicator& comm) {
      std::vector<float> a(300'000), b(70'000);
      GradientEntry entry(comm, settings);
      entry.add("a", std::span(a));
      entry.add("b", std::span(b));
      for (int step = 0; step < Tuner::kMostSteps + 3; ++step) {
        a.assign(a.size(), static_cast<float>(comm.rank().value + step));
        b.assign(b.size(), static_cast<float>(step));
        entry.ready({0});
        entry.ready({1});
        if (entry.wait_step().have_views_moved) ++moves[index_of(comm)];
        if (!all_are(a, 1 + step) || !all_are(b, step)) failures[index_of(comm)] = "values";
      }
    });
    CHECK(failures == std::vector<std::string>(ranks.size()));
    CHECK(moves == std::vector<int>(ranks.size(), moves[0]));
    if (job == 0)
      CHECK(moves[0] > 5);
    else
      CHECK(moves[0] == 1);
    CHECK(std::distance(std::filesystem::directory_iterator(settings.cache),
                        std::filesystem::directory_iterator()) == 1);
  }
}

TEST_CASE("timelines and counters are left behind, and a step costs few bytes of talk") {
  const test::TempDirectory folder;
  EntrySettings settings;
  settings.timeline = (folder.path() / "timeline").string();
  settings.counters = (folder.path() / "counters").string();
  auto ranks = communicators_in_process(4, 20s);
  std::vector<std::uint64_t> bytes(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> values(100);
    GradientEntry entry(comm, settings);
    for (int i = 0; i < 161; ++i)
      entry.add(std::to_string(i), std::span(values));
    for (int step = 0; step < 10; ++step)
      entry.all_reduce_gradients(ReduceOp::average);
    bytes[index_of(comm)] = entry.counters().negotiation_bytes;
  });
  CHECK(bytes == std::vector<std::uint64_t>(4, 10 * 2 * Summary::kBytes));
  for (int rank = 0; rank < 4; ++rank) {
    const std::string name = "/rank-" + std::to_string(rank);
    for (const std::string& file :
         {settings.timeline + name + ".json", settings.counters + name + ".json",
          settings.counters + name + ".prom"})
      CHECK(std::filesystem::file_size(file) > 100);
  }
}

/// What the ranks have of one model, and what comes of it.
struct Model {
  std::vector<GradientInfo> infos;
  std::vector<std::vector<std::vector<float>>> values;  ///< [rank][gradient]

  Model(Random& random, int ranks) : values(static_cast<std::size_t>(ranks)) {
    const std::size_t count = 1 + random() % 30;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t length = random() % 4 == 0 ? random() % 20'000 : random() % 70;
      infos.push_back({.name = "g" + std::to_string(i), .shape = {length}});
      for (auto& rank : values) {
        std::vector<float> gradient(length);
        for (float& value : gradient)
          value = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 700.0F;
        rank.push_back(std::move(gradient));
      }
    }
  }

  double average(std::size_t gradient, std::size_t element) const {
    double sum = 0;
    for (const auto& rank : values)
      sum += static_cast<double>(rank[gradient][element]);
    return sum / static_cast<double>(values.size());
  }
};

/// Makes every gradient ready in an order of its own, by one to three threads.
void make_ready(GradientEntry& entry, std::size_t gradients, Random random) {
  std::vector<std::size_t> order(gradients);
  for (std::size_t i = 0; i < gradients; ++i)
    order[i] = i;
  std::ranges::shuffle(order, random);
  const std::size_t workers = 1 + random() % 3;
  std::vector<std::jthread> threads;
  for (std::size_t worker = 0; worker < workers; ++worker)
    threads.emplace_back([&entry, &order, worker, workers] {
      for (std::size_t i = worker; i < order.size(); i += workers) {
        entry.ready({order[i]});
        if (order[i] % 3 == 0) std::this_thread::yield();
      }
    });
}

EntrySettings random_settings(Random& random) {
  constexpr WireType kWires[] = {WireType::same, WireType::same, WireType::float16,
                                 WireType::bfloat16, WireType::mixed};
  EntrySettings settings;
  settings.bucket = {64 + random() % 30'000};
  settings.wire = kWires[random() % std::size(kWires)];
  settings.small = {200};
  settings.lanes = 1 + static_cast<int>(random() % 4);
  settings.non_finite = NonFiniteAction{static_cast<std::uint8_t>(random() % 3)};
  return settings;
}

double tolerance(WireType wire, int ranks) {
  switch (wire) {
    case WireType::same:
      return 1.5e-7 * 2 * ranks;
    case WireType::float16:
    case WireType::mixed:
      return 5e-4 * 2 * ranks;
    case WireType::bfloat16:
      return 4e-3 * 2 * ranks;
  }
  return 0;
}

TEST_CASE("any gradients, in any order of readiness, are averaged as in float64") {
  Random random(11);
  for (int run = 0; run < 40; ++run) {
    const int size = 1 + run % 9;
    auto ranks = communicators_in_process(size, 20s);
    const EntrySettings settings = random_settings(random);
    std::vector<Model> steps;
    for (int step = 0; step < 3; ++step) {
      Random same(static_cast<unsigned>(run));  // The same gradients in every step.
      steps.emplace_back(same, size);
    }
    std::vector<std::vector<std::vector<float>>> results(ranks.size());
    run_ranks(ranks, [&](Communicator& comm) {
      const std::size_t rank = index_of(comm);
      Random own(static_cast<unsigned>(1000 * run) + static_cast<unsigned>(rank));
      auto& mine = results[rank] = steps[0].values[rank];
      GradientEntry entry(comm, settings);
      for (std::size_t i = 0; i < mine.size(); ++i)
        entry.add(steps[0].infos[i], std::as_writable_bytes(std::span(mine[i])));
      for (const Model& step : steps) {
        for (std::size_t i = 0; i < mine.size(); ++i)
          std::ranges::copy(step.values[rank][i], mine[i].begin());
        make_ready(entry, mine.size(), own);
        entry.wait_step();
        own.discard(17);
      }
    });
    double worst = 0;
    for (std::size_t i = 0; i < steps[2].infos.size(); ++i)
      for (std::size_t k = 0; k < results[0][i].size(); ++k)
        worst = std::max(worst,
                         std::abs(static_cast<double>(results[0][i][k]) - steps[2].average(i, k)));
    CAPTURE(run);
    CHECK(worst <= tolerance(settings.wire, size));
    for (const auto& rank : results)
      CHECK(rank == results[0]);
  }
}

TEST_CASE("every number that is none is reported with rank, gradient, step and first index") {
  Random random(5);
  for (int run = 0; run < 60; ++run) {
    const int size = 1 + run % 6;
    auto ranks = communicators_in_process(size, 20s);
    EntrySettings settings = random_settings(random);
    settings.non_finite = NonFiniteAction{static_cast<std::uint8_t>(1 + run % 3)};
    Random same(static_cast<unsigned>(run));
    Model model(same, size);
    NonFiniteReport expected{{static_cast<int>(random()) & 0xffff}, {0}, 0, {}};
    expected.rank.value %= size;
    do
      expected.gradient = {random() % model.infos.size()};
    while (model.infos[expected.gradient.value].shape[0] == 0 && random() % 50 != 0);
    auto& bad =
        model.values[static_cast<std::size_t>(expected.rank.value)][expected.gradient.value];
    if (bad.empty()) continue;
    expected.index = random() % bad.size();
    expected.value = NonFiniteReport::Value{static_cast<std::uint8_t>(random() % 2)};
    bad[expected.index] = expected.value == NonFiniteReport::Value::nan
                              ? std::numeric_limits<float>::quiet_NaN()
                              : -std::numeric_limits<float>::infinity();
    if (random() % 2 == 0) bad.back() = bad[expected.index];
    const std::uint32_t at_step = run % 2 == 0 ? 0 : 1;
    std::vector<Sentences> said(ranks.size());
    std::vector<std::string> failures(ranks.size());
    run_ranks(ranks, [&](Communicator& comm) {
      const std::size_t rank = index_of(comm);
      auto values = model.values[rank];
      GradientEntry entry(comm, settings, &said[rank]);
      for (std::size_t i = 0; i < values.size(); ++i)
        entry.add(model.infos[i], std::as_writable_bytes(std::span(values[i])));
      for (std::uint32_t step = 0; step <= at_step; ++step) {
        for (std::size_t i = 0; i < values.size(); ++i)
          if (step == at_step)
            std::ranges::copy(model.values[rank][i], values[i].begin());
          else
            std::ranges::fill(values[i], 1.0F);
        make_ready(entry, values.size(), Random(step));
        try {
          const StepOutcome outcome = entry.wait_step();
          if (step < at_step) continue;
          if (outcome.non_finite != expected) failures[rank] = "another report";
          if (outcome.is_applied != (settings.non_finite == NonFiniteAction::warn))
            failures[rank] = "applied";
          if (settings.non_finite == NonFiniteAction::stop) failures[rank] = "not stopped";
        } catch (const Error& e) {
          if (settings.non_finite != NonFiniteAction::stop) throw;
          failures[rank] = e.what() == said[rank].all.back() ? "" : e.what();
        }
      }
    });
    const bool is_nan = expected.value == NonFiniteReport::Value::nan;
    const std::string sentence = "step " + std::to_string(at_step) + ": gradient 'g" +
                                 std::to_string(expected.gradient.value) + "' of rank " +
                                 std::to_string(expected.rank.value) + " has " +
                                 (is_nan ? "NaN" : "infinity") + " at index " +
                                 std::to_string(expected.index);
    CHECK(failures == std::vector<std::string>(ranks.size()));
    for (const Sentences& each : said)
      CHECK(each.all == std::vector{sentence});
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
