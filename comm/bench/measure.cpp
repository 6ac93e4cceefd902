#include "comm/bench/measure.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/error.hpp"
#include "comm/bench/median.hpp"
#include "comm/bench/pattern.hpp"

namespace fastgpu::comm::bench {
namespace {

constexpr double kWarmUpSeconds = 5e-3;
constexpr double kBatchSeconds = 25e-3;
constexpr double kMostWarmUps = 20;
constexpr double kMostCalls = 2000;
/// A cold call is timed by itself, so that there are more of them than of batches.
constexpr int kColdCalls = 3;
constexpr std::uint64_t kAlignment = 64;  // The alignment of the second half of the memory.

/// Returns the seconds that one of `calls` calls takes on the slowest rank.
double batch(BenchLibrary& library, const BenchCall& call, int calls) {
  using Clock = std::chrono::steady_clock;
  library.barrier();
  const auto begin = Clock::now();
  for (int i = 0; i < calls; ++i)
    library.run(call);
  const std::chrono::duration<double> taken = Clock::now() - begin;
  return library.greatest(taken.count() / calls);
}

/// Returns as many calls as fill `seconds`: the same on every rank, because `each` is.
int calls_for(double seconds, double each, double most) {
  return static_cast<int>(std::clamp(seconds / std::max(each, 1e-9), 1.0, most));
}

/// Makes the first calls, and returns the number of calls in a batch.
int warm_up(BenchLibrary& library, const BenchCall& call, const BenchSettings& settings) {
  const double cold = batch(library, call, 1);
  const double warm = batch(library, call, calls_for(kWarmUpSeconds, cold, kMostWarmUps));
  return settings.calls > 0 ? settings.calls : calls_in_batch(warm);
}

void check_once(BenchLibrary& library, const BenchCall& call) {
  const BenchRank place{library.rank(), library.ranks()};
  fill(call, place);
  library.run(call);
  check(call, place);
}

/// Sets the data of a call to zeros, which stay zeros however often they are added.
void clear(const BenchCall& call) {
  std::ranges::fill(call.in, std::byte{0});
  std::ranges::fill(call.out, std::byte{0});
}

void measure(BenchLibrary& library, const BenchSettings& settings, const BenchCall& call,
             const Emit& emit) {
  if (settings.is_checked) check_once(library, call);
  clear(call);
  const int calls = warm_up(library, call, settings);
  std::vector<double> seconds;
  for (int i = 0; i < settings.repetitions; ++i)
    seconds.push_back(batch(library, call, calls));
  const std::string name = settings.label.empty() ? library.name() : settings.label;
  if (library.rank() == 0) emit(result_of(name, call, library.ranks(), median(std::move(seconds))));
}

std::vector<BenchCall> kinds_of(const BenchSettings& settings) {
  std::vector<BenchCall> kinds;
  for (const BenchCollective collective : settings.collectives)
    for (const ElementType type : settings.types) {
      kinds.push_back({.collective = collective, .type = type, .in = {}, .out = {}});
      if (collective == BenchCollective::barrier) break;  // A barrier has no data.
    }
  return kinds;
}

void check_can_run(const BenchLibrary& library, const BenchCall& kind) {
  library.check_has(kind);
  if (is_of_two_ranks(kind.collective) && library.ranks() < 2)
    throw Error(ErrorKind::usage, "--collective " + std::string(name_of(kind.collective)) +
                                      ": a message needs two ranks, not 1");
}

/// Calls act(call) for each kind and size, in the given memory.
template <class Act>
void for_each_call(const BenchSettings& settings, int ranks, std::span<std::byte> memory, Act act) {
  for (const BenchCall& kind : kinds_of(settings)) {
    std::optional<std::uint64_t> before;
    for (const Bytes size : settings.sizes) {
      const BenchCall call = placed(kind, ranks, size, memory);
      // Sizes that are rounded to the same length are measured once.
      if (before != call.bytes().count) act(call, size);
      before = call.bytes().count;
    }
  }
}

/// Memory that is read to take the place of all other data in the caches of this rank's CPU.
class CacheSweep {
 public:
  CacheSweep() : memory_(bytes(), std::byte{1}) {}

  void operator()() {
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < memory_.size(); at += kLine)
      sum += static_cast<std::uint64_t>(memory_[at]);
    sink_ = sum;
  }

 private:
  static constexpr std::size_t kLine = 64;

  /// Returns twice the size of the last cache, or what is plenty if that is unknown.
  static std::size_t bytes() {
    constexpr std::size_t kPlenty = std::size_t{64} << 20;
    const long last = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
    return std::max(kPlenty, last > 0 ? 2 * static_cast<std::size_t>(last) : 0);
  }

  std::vector<std::byte> memory_;
  volatile std::uint64_t sink_ = 0;  ///< A use of what was read.
};

/// One size of one collective, measured by all contestants.
class Turns {
 public:
  Turns(std::span<const Contestant> contestants, const BenchSettings& settings,
        const BenchCall& kind, Bytes size)
      : contestants_(contestants), settings_(settings), seconds_(contestants.size()) {
    for (const Contestant& each : contestants)
      calls_.push_back(placed(kind, each.library.ranks(), size, each.memory));
  }

  void run(CacheSweep* sweep) {
    std::vector<int> counts;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      BenchLibrary& library = contestants_[i].library;
      if (settings_.is_checked) check_once(library, calls_[i]);
      clear(calls_[i]);
      counts.push_back(warm_up(library, calls_[i], settings_));
    }
    const int rounds = settings_.repetitions * (sweep != nullptr ? kColdCalls : 1);
    for (int round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < calls_.size(); ++i) {
        if (sweep != nullptr)
          (*sweep)();
        else
          batch(contestants_[i].library, calls_[i], 1);  // Another has had the caches.
        seconds_[i].push_back(
            batch(contestants_[i].library, calls_[i], sweep != nullptr ? 1 : counts[i]));
      }
  }

  void report(const Emit& emit) const {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const BenchLibrary& library = contestants_[i].library;
      if (library.rank() == 0)
        emit(result_of(contestants_[i].name, calls_[i], library.ranks(), median(seconds_[i])));
    }
  }

 private:
  std::span<const Contestant> contestants_;
  const BenchSettings& settings_;
  std::vector<BenchCall> calls_;
  std::vector<std::vector<double>> seconds_;
};

}  // namespace

int calls_in_batch(double seconds) {
  return calls_for(kBatchSeconds, seconds, kMostCalls);
}

Bytes memory_in_turns(const BenchSettings& settings, int ranks) {
  std::uint64_t most = 0;
  for (const BenchCall& kind : kinds_of(settings))
    for (const Bytes size : settings.sizes)
      most = std::max(most, usable_bytes(kind, ranks, size));
  return {2 * ((most + kAlignment - 1) / kAlignment * kAlignment)};
}

void measure_collectives(BenchLibrary& library, const BenchSettings& settings, const Emit& emit) {
  const std::vector<BenchCall> kinds = kinds_of(settings);
  for (const BenchCall& kind : kinds)
    check_can_run(library, kind);
  if (kinds.empty()) return;
  const auto memory = library.memory(memory_in_turns(settings, library.ranks()).count);
  for_each_call(settings, library.ranks(), memory,
                [&](const BenchCall& call, Bytes) { measure(library, settings, call, emit); });
  library.barrier();
}

void measure_in_turns(std::span<const Contestant> contestants, const BenchSettings& settings,
                      Caches caches, const Emit& emit) {
  if (contestants.empty()) return;
  for (const BenchCall& kind : kinds_of(settings))
    for (const Contestant& each : contestants)
      check_can_run(each.library, kind);
  std::optional<CacheSweep> sweep;
  if (caches == Caches::cold) sweep.emplace();
  const Contestant& first = contestants.front();
  for_each_call(settings, first.library.ranks(), first.memory,
                [&](const BenchCall& kind, Bytes size) {
                  Turns turns(contestants, settings, kind, size);
                  turns.run(sweep ? &*sweep : nullptr);
                  turns.report(emit);
                });
  for (const Contestant& each : contestants)
    each.library.barrier();
}

}  // namespace fastgpu::comm::bench
