// The gradient exchange under whatever may happen in a job that goes well: properties that hold for
// every seed.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/contains.hpp"
#include "comm/gradients/gradient_exchange.hpp"
#include "support/connect_in_process.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::run_ranks;
using Random = std::mt19937;

enum class RankMemory : std::uint8_t { own, view };

struct Gradient {
  GradientInfo info;
  RankMemory memory = RankMemory::own;
};

/// What a job is made of: the same on all ranks, and all of it from one seed.
struct Job {
  int ranks = 1;
  SharedMemory shared_memory = SharedMemory::on;
  GradientSettings settings;
  ReduceOp op = ReduceOp::average;
  std::vector<Gradient> gradients;
  int steps = 0;
  unsigned seed = 0;

  explicit Job(unsigned number) : seed(number) {
    Random random(number);
    const auto any = [&](auto... choices) {
      const std::array all{choices...};
      return all[random() % all.size()];
    };
    ranks = 1 + static_cast<int>(random() % 6);
    shared_memory = any(SharedMemory::on, SharedMemory::off);
    settings.bucket = {64 + random() % 40'000};
    settings.streams = 1 + static_cast<int>(random() % 5);
    settings.wire = any(WireType::same, WireType::float16, WireType::bfloat16, WireType::mixed);
    settings.small = {random() % 1000};
    settings.non_finite = any(NonFiniteAction::off, NonFiniteAction::warn, NonFiniteAction::skip);
    settings.is_tuned = random() % 4 == 0;
    op = any(ReduceOp::average, ReduceOp::sum, ReduceOp::max);
    steps = settings.is_tuned ? Tuner::kMostSteps + 4 : 4;
    const std::size_t count = 1 + random() % 25;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t longest = random() % 5 == 0 ? 9000 : 60;
      gradients.push_back({{.name = "g" + std::to_string(i),
                            .type = any(ElementType::float32, ElementType::float32,
                                        ElementType::float64, ElementType::int32),
                            .shape = {random() % longest},
                            .priority = static_cast<std::int32_t>(random() % 3)},
                           any(RankMemory::own, RankMemory::own, RankMemory::view)});
    }
    if (random() % 2 == 0)
      for (Gradient& gradient : gradients)
        gradient.info.priority = 0;
  }

  /// Whether no rank makes it ready in that step.
  bool is_skipped(std::size_t gradient, int step) const {
    Random random(seed + 31 * static_cast<unsigned>(gradient) + 977 * static_cast<unsigned>(step));
    return random() % 7 == 0;
  }

  /// Small enough for every type on the wire to hold it exactly.
  double value(int rank, std::size_t gradient, std::size_t index, int step) const {
    const std::size_t mixed = (gradient * 7 + index * 13 + static_cast<std::size_t>(step) * 5 +
                               static_cast<std::size_t>(rank) * 3 + seed) %
                              9;
    return static_cast<double>(mixed) - 4;
  }

  double result(std::size_t gradient, std::size_t index, int step) const {
    double sum = 0;
    double highest = -100;
    for (int rank = 0; rank < ranks; ++rank) {
      sum += value(rank, gradient, index, step);
      highest = std::max(highest, value(rank, gradient, index, step));
    }
    if (op == ReduceOp::max) return highest;
    if (op == ReduceOp::sum) return sum;
    const bool is_whole = gradients[gradient].info.type == ElementType::int32;
    return is_whole ? std::trunc(sum / ranks) : sum / ranks;
  }

  /// Averages of 16-bit numbers are divided before they are added.
  double tolerance(ElementType wire) const {
    if (op != ReduceOp::average) return 0;
    if (wire == ElementType::float16) return 4 * 0x1p-10 * ranks;
    if (wire == ElementType::bfloat16) return 4 * 0x1p-7 * ranks;
    return wire == ElementType::int32 ? 0 : 1e-6;
  }
};

double number_at(std::span<const std::byte> memory, ElementType type, std::size_t index) {
  const std::byte* const at = memory.data() + index * size_of(type);
  const auto as = [at](auto number) {
    std::memcpy(&number, at, sizeof(number));
    return number;
  };
  switch (type) {
    case ElementType::float32:
      return static_cast<double>(as(0.0F));
    case ElementType::float64:
      return as(0.0);
    case ElementType::int32:
      return as(std::int32_t{});
    case ElementType::float16:
      return static_cast<double>(to_float(as(Float16{})));
    case ElementType::bfloat16:
      return static_cast<double>(to_float(as(BFloat16{})));
    case ElementType::int64:
    case ElementType::int8:
    case ElementType::uint8:
      break;
  }
  return NAN;
}

void put_number(std::span<std::byte> memory, ElementType type, std::size_t index, double value) {
  std::byte* const at = memory.data() + index * size_of(type);
  const auto put = [at](auto number) { std::memcpy(at, &number, sizeof(number)); };
  const auto narrow = static_cast<float>(value);
  if (type == ElementType::float32) put(narrow);
  if (type == ElementType::float64) put(value);
  if (type == ElementType::int32) put(static_cast<std::int32_t>(value));
  if (type == ElementType::float16) put(to_float16(narrow));
  if (type == ElementType::bfloat16) put(to_bfloat16(narrow));
}

/// One rank of a job.
class Player {
 public:
  Player(const Job& job, Communicator& comm)
      : job_(job),
        rank_(comm.rank().value),
        random_(job.seed * 64 + static_cast<unsigned>(rank_)),
        exchange_(comm, job.settings),
        memory_(job.gradients.size()) {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const auto& [info, memory] = job.gradients[i];
      if (memory == RankMemory::own) memory_[i].resize(info.shape[0] * size_of(info.type));
      exchange_.add(info, memory_[i]);
    }
    exchange_.use_operation(job.op);
  }

  /// What was wrong, in words.
  std::string play() {
    for (int step = 0; step < job_.steps; ++step) {
      fill(step);
      make_ready(step);
      const StepOutcome outcome = exchange_.wait_step();
      if (!outcome.is_applied) return "not applied in step " + std::to_string(step);
      if (const std::string wrong = look(step, outcome); !wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  bool is_view(std::size_t i) const { return job_.gradients[i].memory == RankMemory::view; }
  ElementType type_of(std::size_t i) const {
    return is_view(i) ? exchange_.wire_type({i}) : job_.gradients[i].info.type;
  }
  std::span<std::byte> memory(std::size_t i) {
    return is_view(i) ? exchange_.view({i}) : std::span(memory_[i]);
  }

  void fill(int step) {
    for (std::size_t i = 0; i < memory_.size(); ++i)
      for (std::size_t k = 0; k < job_.gradients[i].info.shape[0]; ++k)
        put_number(memory(i), type_of(i), k, job_.value(rank_, i, k, step));
  }

  /// In an order of its own, by several threads, with pauses.
  void make_ready(int step) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < memory_.size(); ++i)
      if (!job_.is_skipped(i, step)) order.push_back(i);
    std::ranges::shuffle(order, random_);
    const std::size_t workers = 1 + random_() % 3;
    std::vector<std::jthread> threads;
    for (std::size_t worker = 0; worker < workers; ++worker)
      threads.emplace_back([this, &order, worker, workers, random = Random(random_())]() mutable {
        for (std::size_t i = worker; i < order.size(); i += workers) {
          exchange_.ready({order[i]});
          if (random() % 16 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
        }
      });
  }

  std::string look(int step, const StepOutcome& outcome) {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const bool is_skipped = job_.is_skipped(i, step);
      if (is_skipped != (contains(outcome.skipped, GradientId{i})))
        return "skipped " + std::to_string(i) + " in step " + std::to_string(step);
      if (is_view(i) && is_skipped) continue;
      for (std::size_t k = 0; k < job_.gradients[i].info.shape[0]; ++k) {
        const double wanted = is_skipped ? job_.value(rank_, i, k, step) : job_.result(i, k, step);
        const double got = number_at(memory(i), type_of(i), k);
        if (std::abs(got - wanted) > job_.tolerance(exchange_.wire_type({i})))
          return "step " + std::to_string(step) + ", gradient " + std::to_string(i) + "[" +
                 std::to_string(k) + "] is " + std::to_string(got) + ", not " +
                 std::to_string(wanted);
      }
    }
    return "";
  }

  const Job& job_;
  int rank_;
  Random random_;
  GradientExchange exchange_;
  std::vector<std::vector<std::byte>> memory_;
};

/// FASTGPU_TEST_SEED begins elsewhere than with 1, and FASTGPU_TEST_RUNS takes more seeds than 24.
unsigned number_from(const char* variable, unsigned usual) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : usual;
}

TEST_SUITE_BEGIN("comm/gradients");

TEST_CASE("whatever the gradients, settings, orders, threads and delays, results are right") {
  const unsigned first = number_from("FASTGPU_TEST_SEED", 1);
  const unsigned runs = number_from("FASTGPU_TEST_RUNS", 24);
  for (unsigned seed = first; seed < first + runs; ++seed) {
    const Job job(seed);
    auto ranks = communicators_in_process(job.ranks, 20s, job.shared_memory, 2);
    std::vector<std::string> wrong(ranks.size());
    INFO("seed ", seed);
    CHECK_NOTHROW(run_ranks(ranks, [&](Communicator& comm) {
      wrong[static_cast<std::size_t>(comm.rank().value)] = Player(job, comm).play();
    }));
    CHECK(wrong == std::vector<std::string>(ranks.size()));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
