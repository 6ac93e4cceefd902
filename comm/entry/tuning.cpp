#include "comm/entry/tuning.hpp"

#include <algorithm>
#include <array>
#include <climits>

#include "base/error.hpp"
#include "comm/entry/tuner_cache.hpp"

namespace fastgpu::comm {
namespace {

/// Of a network that nobody has measured: a common one between machines.
constexpr Link kCommonLink{.latency = Seconds(50e-6), .flow = gigabits(10), .shared = gigabits(10)};

std::optional<Setting> known_to_rank_0(Communicator& control, const std::filesystem::path& file) {
  std::array<std::uint64_t, 3> numbers{};
  const bool reads = control.rank() == Rank{0} && !file.empty();
  if (const auto found = reads ? load_setting(file) : std::nullopt)
    numbers = {static_cast<std::uint64_t>(found->flows), static_cast<std::uint64_t>(found->lanes),
               found->bucket.count};
  control.broadcast(std::as_writable_bytes(std::span(numbers)), {0});
  if (numbers[2] == 0) return std::nullopt;
  const auto small = [](std::uint64_t number) {
    return static_cast<int>(std::min<std::uint64_t>(number, INT_MAX));
  };
  const Setting setting{small(numbers[0]), small(numbers[1]), {numbers[2]}};
  if (!is_possible(setting))
    throw Error(ErrorKind::remote, "rank 0: what its tuning has found is no setting");
  return setting;
}

}  // namespace

Tuning::Tuning(Communicator& control, const EntrySettings& settings, const GradientTable& table,
               EntryEvents* events)
    : control_(control), events_(events) {
  const bool has_network = control.topology().nodes.size() > 1;
  const int flows = has_network ? control.caps_of_network().flows : 1;
  current_ = {flows, settings.lanes, settings.bucket};
  if (!settings.is_tuned || control.size() == 1 || table.size() == 0) return;
  if (!settings.cache.empty()) file_ = cache_file(settings.cache, table.hash(), control.topology());
  if (const auto known = known_to_rank_0(control, file_)) {
    current_ = *known;
    return;
  }
  double wire_bytes = 0;
  const std::vector<ElementType> types = wire_types(table, settings);
  for (std::size_t i = 0; i < types.size(); ++i)
    wire_bytes += static_cast<double>(table.elements({i}) * size_of(types[i]));
  tuner_.emplace(SearchSpace{.usual = current_,
                             .most_flows = flows,
                             .most_lanes = kMostLanes,
                             .gradient_bytes = wire_bytes,
                             .gradients = static_cast<int>(table.size())},
                 kCommonLink);
}

/// The first step is not counted: the order of gradients changes after it, and memory is new.
bool Tuning::step_ended() {
  if (!tuner_) return false;
  const auto now = std::chrono::steady_clock::now();
  if (!step_began_) {
    step_began_ = now;
    return false;
  }
  double seconds = std::chrono::duration<double>(now - *step_began_).count();
  control_.all_reduce(std::span(&seconds, 1), ReduceOp::max);
  tuner_->step_took(Seconds(seconds));
  const bool has_changed = tuner_->current() != current_;
  current_ = tuner_->current();
  if (tuner_->is_done()) {
    tuner_.reset();
    keep();
  }
  step_began_ = std::chrono::steady_clock::now();
  return has_changed;
}

void Tuning::keep() {
  if (control_.rank() != Rank{0} || file_.empty()) return;
  try {
    store_setting(file_, current_);
  } catch (const Error& e) {
    if (events_ != nullptr) events_->warned(e.during("keeping what tuning has found").what());
  }
}

}  // namespace fastgpu::comm
