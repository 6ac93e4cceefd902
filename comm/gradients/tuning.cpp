#include "comm/gradients/tuning.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <span>
#include <vector>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "comm/codecs/codec_table.hpp"
#include "comm/codecs/low_rank.hpp"
#include "comm/engine/planner.hpp"
#include "comm/gradients/codec_advice.hpp"
#include "comm/gradients/low_rank_sum.hpp"
#include "comm/gradients/tuner_cache.hpp"
#include "comm/schedule/choose.hpp"

namespace fastgpu::comm {
namespace {

/// The model of an unmeasured network: a common one between machines, and memory inside them.
constexpr NetworkModel kCommonNetwork{
    .inside = {.latency = Seconds(2e-6), .flow = gigabytes(5), .shared = gigabytes(10)},
    .across = {.latency = Seconds(50e-6), .flow = gigabits(10), .shared = gigabits(10)},
    .per_message = Seconds(1e-6),
    .reduce = gigabytes(5),
    .copy = gigabytes(5)};

/// The other pieces: four times as long as usual, and a quarter of it.
constexpr std::uint8_t kOtherPieces[] = {20, 16};

/// Returns two algorithms that might be better than the usual one for a bucket, by their prediction
/// on a common network. Each is followed by the usual one in other pieces.
std::vector<AllReducePlan> other_plans(const Topology& topology, Bytes bucket) {
  const SchedulePlan usual =
      all_reduce_plan({.kind = CallKind::all_reduce, .bytes = bucket.count}, topology);
  std::vector<AllReducePlan> algorithms;
  const Choice choice{.bytes = static_cast<double>(bucket.count)};
  for (const Candidate& each : candidates(choice, topology, kCommonNetwork)) {
    const AllReducePlan plan{.algorithm = each.plan.algorithm};
    const bool is_known = contains(algorithms, plan);
    if (each.plan.algorithm != usual.algorithm && !is_known) algorithms.push_back(plan);
  }
  std::vector<AllReducePlan> plans;
  for (std::size_t i = 0; i < std::size(kOtherPieces); ++i) {
    if (i < algorithms.size()) plans.push_back(algorithms[i]);
    plans.push_back({.piece_log2 = kOtherPieces[i]});
  }
  return plans;
}

/// A setting in rank 0's message.
using Numbers = std::array<std::uint64_t, 5>;

Numbers numbers_of(const TunerSetting& setting) {
  const auto& algorithm = setting.plan.algorithm;
  return {static_cast<std::uint64_t>(setting.flows), static_cast<std::uint64_t>(setting.streams),
          setting.bucket.count,
          algorithm ? static_cast<std::uint64_t>(static_cast<int>(*algorithm) + 1) : 0,
          setting.plan.piece_log2};
}

/// Decodes a setting; absent if rank 0 knows of none. Throws ErrorKind::remote for an invalid one.
std::optional<TunerSetting> setting_of(const Numbers& numbers) {
  if (numbers == Numbers{}) return std::nullopt;
  const auto small = [](std::uint64_t number) {
    return static_cast<int>(std::min<std::uint64_t>(number, INT_MAX));
  };
  TunerSetting setting{small(numbers[0]), small(numbers[1]), {numbers[2]}};
  if (numbers[3] > 0 && numbers[3] <= kAlgorithms.size())
    setting.plan.algorithm = kAlgorithms[numbers[3] - 1];
  setting.plan.piece_log2 =
      static_cast<std::uint8_t>(std::min<std::uint64_t>(numbers[4], UINT8_MAX));
  if (!is_possible(setting) || numbers[3] > kAlgorithms.size())
    throw Error(ErrorKind::remote, "rank 0: the result of its tuning is no setting");
  return setting;
}

std::optional<TunerSetting> known_to_rank_0(Communicator& control,
                                            const std::filesystem::path& file) {
  const bool reads = control.rank() == Rank{0} && !file.empty();
  const auto found = reads ? load_setting(file) : std::nullopt;
  Numbers numbers = found ? numbers_of(*found) : Numbers{};
  control.broadcast(std::as_writable_bytes(std::span(numbers)), {0});
  return setting_of(numbers);
}

/// Returns the length of each gradient as it is sent.
std::vector<std::size_t> bytes_on_wire(const GradientTable& table, const GradientSettings& settings,
                                       std::span<const ElementType> types) {
  const std::vector<bool> encoded = encoded_gradients(table, settings);
  const std::vector<LowRankForm> forms = low_rank_forms(table, settings);
  const bool has_codes = !entry_of(settings.codec.id).is_linear;
  const auto codec = has_codes ? make_codec(settings.codec) : nullptr;
  std::vector<std::size_t> bytes;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!encoded[i])
      bytes.push_back(table.elements({i}) * size_of(types[i]));
    else if (codec)
      bytes.push_back(codec->encoded_bytes(table.elements({i})));
    else
      bytes.push_back((forms[i].left() + forms[i].right()) * sizeof(float));
  }
  return bytes;
}

}  // namespace

Tuning::Tuning(Communicator& control, const GradientSettings& settings, const GradientTable& table,
               Advice advice, GradientEvents* events)
    : control_(control),
      events_(events),
      advice_(advice),
      may_encode_(control.topology().nodes.size() > 1 && settings.wire == WireType::same) {
  const bool has_network = control.topology().nodes.size() > 1;
  const int flows = has_network ? control.most_flows() : 1;
  current_ = {flows, settings.streams, settings.bucket};
  if (!settings.is_tuned || control.size() == 1 || table.size() == 0) return;
  const std::vector<ElementType> types = wire_types(table, settings);
  if (!settings.cache.empty())
    file_ = cache_file(settings.cache, {table.hash(), types, control.topology(), flows,
                                        settings.device.path, number_of_wire(settings)});
  if (const auto known = known_to_rank_0(control, file_)) {
    current_ = *known;
    return;
  }
  double wire_bytes = 0;
  for (const std::size_t bytes : bytes_on_wire(table, settings, types))
    wire_bytes += static_cast<double>(bytes);
  bytes_ = wire_bytes;
  tuner_.emplace(SearchSpace{.usual = current_,
                             .most_flows = flows,
                             .most_streams = kMostStreams,
                             .gradient_bytes = wire_bytes,
                             .gradients = static_cast<int>(table.size()),
                             .plans = other_plans(control.topology(), settings.bucket)},
                 kCommonNetwork.across);
}

/// Counts a step. The first one is not counted: the order of gradients changes after it, and memory
/// is new.
bool Tuning::step_ended(double waited) {
  if (!tuner_) return false;
  const auto now = std::chrono::steady_clock::now();
  if (!step_began_) {
    step_began_ = now;
    return false;
  }
  std::array<double, 2> longest = {std::chrono::duration<double>(now - *step_began_).count(),
                                   waited};
  control_.all_reduce(std::span<double>(longest), ReduceOp::max);
  tuner_->step_took(Seconds(longest[0]));
  const bool has_changed = tuner_->current() != current_;
  current_ = tuner_->current();
  if (tuner_->is_done()) {
    tuner_.reset();
    keep();
    advise(longest[0], longest[1]);
  }
  step_began_ = std::chrono::steady_clock::now();
  return has_changed;
}

/// Measures the network and the codecs, once, and recommends one that pays. A collective call.
void Tuning::advise(double step_seconds, double waited) {
  if (!may_encode_) return;
  constexpr std::size_t kNumbers = std::size_t{1} << 20;
  std::vector<float> numbers(kNumbers);
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    control_.barrier();
    const auto began = std::chrono::steady_clock::now();
    control_.all_reduce(std::span(numbers), ReduceOp::sum);
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    control_.all_reduce(std::span(&seconds, 1), ReduceOp::max);
    best = round == 0 ? seconds : std::min(best, seconds);
  }
  if (control_.rank() != Rank{0} || events_ == nullptr || advice_ == Advice::none) return;
  const PlainStep step{step_seconds, waited, bytes_, kNumbers * sizeof(float) / best};
  const auto advice = advised_codec(step, measured_costs(control_.topology().nodes.size()));
  if (advice) events_->warned(sentence_of(*advice, step));
}

void Tuning::keep() {
  if (control_.rank() != Rank{0} || file_.empty()) return;
  try {
    store_setting(file_, current_);
  } catch (const Error& e) {
    if (events_ != nullptr) events_->warned(e.during("storing the result of tuning").what());
  }
}

}  // namespace fastgpu::comm
