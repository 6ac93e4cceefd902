#include "comm/bench/measure.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "comm/bench/median.hpp"
#include "comm/bench/pattern.hpp"

namespace fastgpu::comm::bench {
namespace {

constexpr double kWarmUpSeconds = 5e-3;
constexpr double kBatchSeconds = 25e-3;
constexpr double kMostWarmUps = 20;
constexpr double kMostCalls = 2000;

/// Returns the seconds that one of `calls` calls takes on the slowest rank.
double batch(Library& library, const Call& call, int calls) {
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

double median_seconds(Library& library, const Call& call, const Settings& settings) {
  const double cold = batch(library, call, 1);
  const double warm = batch(library, call, calls_for(kWarmUpSeconds, cold, kMostWarmUps));
  const int calls = settings.calls > 0 ? settings.calls : calls_in_batch(warm);
  std::vector<double> seconds;
  for (int i = 0; i < settings.repetitions; ++i)
    seconds.push_back(batch(library, call, calls));
  return median(std::move(seconds));
}

void check_once(Library& library, const Call& call) {
  const Place place{library.rank(), library.ranks()};
  fill(call, place);
  library.run(call);
  check(call, place);
}

void measure(Library& library, const Settings& settings, const Call& call, const Emit& emit) {
  if (settings.is_checked) check_once(library, call);
  // Zeros stay zeros, however often they are added.
  std::ranges::fill(call.in, std::byte{0});
  std::ranges::fill(call.out, std::byte{0});
  const double seconds = median_seconds(library, call, settings);
  const std::string name = settings.label.empty() ? library.name() : settings.label;
  if (library.rank() == 0) emit(result_of(name, call, library.ranks(), seconds));
}

std::vector<Call> kinds_of(const Settings& settings) {
  std::vector<Call> kinds;
  for (const Collective collective : settings.collectives)
    for (const ElementType type : settings.types) {
      kinds.push_back({.collective = collective, .type = type, .in = {}, .out = {}});
      if (collective == Collective::barrier) break;  // A barrier has no data.
    }
  return kinds;
}

}  // namespace

int calls_in_batch(double seconds) {
  return calls_for(kBatchSeconds, seconds, kMostCalls);
}

void measure_collectives(Library& library, const Settings& settings, const Emit& emit) {
  const std::vector<Call> kinds = kinds_of(settings);
  std::uint64_t most = 0;
  for (const Call& kind : kinds) {
    library.check_has(kind);
    for (const Bytes size : settings.sizes)
      most = std::max(most, usable_bytes(kind, library.ranks(), size));
  }
  if (kinds.empty()) return;
  constexpr std::uint64_t kAlignment = 64;  // The alignment of the second half.
  const auto memory = library.memory(2 * ((most + kAlignment - 1) / kAlignment * kAlignment));
  for (const Call& kind : kinds) {
    std::optional<std::uint64_t> before;
    for (const Bytes size : settings.sizes) {
      const Call call = placed(kind, library.ranks(), size, memory);
      // Sizes that are rounded to the same length are measured once.
      if (before != call.bytes().count) measure(library, settings, call, emit);
      before = call.bytes().count;
    }
  }
  library.barrier();
}

}  // namespace fastgpu::comm::bench
