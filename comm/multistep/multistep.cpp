#include "comm/multistep/multistep.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <utility>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/fusion/fingerprint.hpp"
#include "comm/multistep/agree.hpp"
#include "comm/multistep/refusal.hpp"
#include "comm/multistep/saved_tensor.hpp"

namespace fastgpu::comm {
namespace {

[[noreturn]] void refuse_step(const std::string& why) {
  throw multistep_refusal(why);
}

OuterRate rate_of_round(const MultistepSettings& settings, std::uint64_t round) {
  if (round < settings.warmup) return {};
  return {settings.rate, settings.momentum};
}

}  // namespace

Multistep::Multistep(Communicator& communicator, const MultistepSettings& mode,
                     GradientSettings settings, GradientEvents* events)
    : communicator_(communicator), settings_(std::move(settings)), events_(events), clock_(mode) {
  if (settings_.wire == WireType::encoded && settings_.codec.momentum > 0)
    refuse_step(
        "the momentum in FASTGPU_COMM_WIRE is that of each step's gradients, and rounds "
        "have several steps: leave it out");
  if (settings_.wire == WireType::encoded && settings_.codec.memory > 0)
    refuse_step(
        "the memory in FASTGPU_COMM_WIRE is of what each step's gradients have in common, and "
        "rounds have several steps: leave it out");
}

/// Whether a round that travels needs more messages depends on what a rank has seen of it, and
/// ranks that end it at different places would wait for each other: all of them end it as a step
/// does.
Multistep::~Multistep() {
  if (communicator_.is_forked()) return;
  try {
    settle();
  } catch (const std::exception&) {  // The communicator is broken, and its next call throws this.
  }
}

std::size_t Multistep::add(GradientInfo info, std::span<std::byte> values) {
  if (!slices_.empty()) refuse_step("tensors are added before begin, not after");
  if (names_.contains(info.name)) refuse_step("'" + printable(info.name) + "' is added already");
  tensors_.emplace_back(std::move(info), values);
  names_.insert(tensors_.back().info().name);
  return tensors_.size() - 1;
}

void Multistep::begin() {
  if (!slices_.empty()) refuse_step("begin is called once");
  check_same_mode(communicator_, mode());
  std::vector<std::size_t> bytes;
  for (MultistepTensor& tensor : tensors_)
    bytes.push_back(tensor.work().size());
  const bool has_slices = mode().mode == MultistepMode::slices;
  const std::uint32_t count = has_slices ? mode().steps : 1;
  std::vector<SliceExchange> slices;
  for (std::size_t i = 0; i < count; ++i)
    slices.emplace_back(communicator_, settings_, mode(), i, events_);
  const std::vector<std::uint32_t> slice_of = slices_of_tensors(bytes, count);
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    slices[slice_of[i]].add(i, tensors_[i]);
  taken_.resize(tensors_.size());
  for (SliceExchange& slice : slices)
    slice.compare();
  if (!averages_gradients(mode().mode))
    for (MultistepTensor& tensor : tensors_) {
      if (!tensor.values().empty()) communicator_.broadcast(tensor.values(), Rank{0});
      tensor.remember(mode().momentum > 0);
    }
  slices_ = std::move(slices);
}

/// Compares the places at which ranks begin or continue: a collective in the first step after
/// `begin` or a loaded state.
void Multistep::compare_once() {
  if (std::exchange(has_compared_, true)) return;
  const RoundClock::State& clock = clock_.state();
  Fingerprint fingerprint;
  fingerprint.add(std::bit_cast<std::uint64_t>(clock.step_weight)).add(clock.finished_rounds);
  fingerprint.add(static_cast<std::uint8_t>(came_.has_value()));
  for (const SliceExchange& slice : slices_)
    fingerprint.add(slice.gradients().order());
  check_same_place(communicator_, {.round = clock.round, .fingerprint = fingerprint.value()});
}

void Multistep::check_begun() const {
  if (slices_.empty()) refuse_step("begin comes first");
}

void Multistep::check_can_go_on() const {
  check_begun();
  if (is_over_)
    refuse_step(
        "all ranks have finished, and no step follows: load the state of then on all ranks to go "
        "on");
}

void Multistep::check_tensor(std::size_t tensor) const {
  if (tensor >= tensors_.size())
    refuse_step("there is no tensor number " + std::to_string(tensor) + " among " +
                std::to_string(tensors_.size()));
}

void Multistep::weigh(double weight) {
  if (!std::isfinite(weight) || weight <= 0)
    refuse_step("the weight of a step is a number above 0");
  if (contains(taken_, 1))
    refuse_step("the weight of a step is set before its gradients are ready");
  weight_ = weight;
}

void Multistep::ready(std::size_t tensor) {
  check_can_go_on();
  check_tensor(tensor);
  if (mode().mode != MultistepMode::accumulate) return;
  if (taken_[tensor] != 0)
    refuse_step("'" + tensors_[tensor].info().name + "' is ready already in this step");
  take(tensor, weight_);
}

/// Adds the gradient of this step to those before. In the last step of a round it begins to travel.
void Multistep::take(std::size_t tensor, double weight) {
  taken_[tensor] = 1;
  tensors_[tensor].accumulate(weight);
  if (!clock_.is_last_step()) return;
  tensors_[tensor].scale_work(1 / clock_.reference());
  slices_[0].ready(tensor);
}

void Multistep::take_all(double weight) {
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (taken_[i] == 0) take(i, weight);
  std::ranges::fill(taken_, char{0});
}

MultistepOutcome Multistep::step() {
  check_can_go_on();
  compare_once();
  is_left_out_ = false;
  const double weight = std::exchange(weight_, 1);
  if (mode().mode == MultistepMode::delay) return turn(weight, false);
  if (mode().mode == MultistepMode::accumulate) take_all(weight);
  return clock_.step(weight) ? end_round(false) : MultistepOutcome{};
}

/// The step counts with weight 0, so that rounds end where they would with it: other ranks do not
/// wait for one step more of this one.
MultistepOutcome Multistep::leave_out() {
  check_can_go_on();
  if (contains(taken_, 1))
    refuse_step("a step has gradients that are ready: it cannot be left out any more");
  compare_once();
  is_left_out_ = true;
  weight_ = 1;
  if (averages_gradients(mode().mode))
    for (MultistepTensor& tensor : tensors_)
      tensor.clear_values();
  if (mode().mode == MultistepMode::delay) return turn(0, false);
  if (mode().mode == MultistepMode::accumulate) take_all(0);
  return clock_.step(0) ? end_round(false) : MultistepOutcome{};
}

MultistepOutcome Multistep::finish() {
  check_can_go_on();
  if (contains(taken_, 1))
    refuse_step("a step has gradients that are ready: call step before finish");
  compare_once();
  weight_ = 1;
  if (mode().mode == MultistepMode::delay) return turn(0, true);
  if (mode().mode == MultistepMode::accumulate)
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      tensors_[i].scale_work(1 / clock_.reference());
      slices_[0].ready(i);
    }
  return end_round(true);
}

MultistepOutcome Multistep::end_round(bool is_finished) {
  return averages_gradients(mode().mode) ? end_gradients(is_finished) : end_parameters(is_finished);
}

/// Takes this rank's share of the round, and counts those to which it gives nothing because it has
/// left out its steps.
RoundShare Multistep::take_share(bool is_finished) {
  const RoundShare share = clock_.take_share(is_finished);
  empty_rounds_.count_share(is_left_out_ && share.weight == 0 && !is_finished);
  return share;
}

/// Ends a round whose gradients are on their way.
MultistepOutcome Multistep::end_gradients(bool is_finished) {
  const RoundShare share = take_share(is_finished);
  SliceExchange& slice = slices_[0];
  try {
    slice.put(header_of(share));
    const MultistepOutcome outcome = wait(slice, share);
    for (MultistepTensor& tensor : tensors_)
      if (outcome.has_results)
        tensor.deliver(verdict_.factor);
      else
        tensor.clear();
    return outcome;
  } catch (const Error&) {
    for (MultistepTensor& tensor : tensors_)
      tensor.clear();
    throw;
  }
}

MultistepOutcome Multistep::end_parameters(bool is_finished) {
  const RoundShare share = take_share(is_finished);
  SliceExchange& slice = slices_[share.slice];
  for (const std::size_t i : slice.tensors())
    if (share.weight > 0)
      tensors_[i].measure_move(share.factor());
    else
      tensors_[i].clear();
  const auto go_back = [&] {
    for (const std::size_t i : slice.tensors())
      tensors_[i].go_back();
  };
  try {
    start(slice, share);
    const MultistepOutcome outcome = wait(slice, share);
    if (!outcome.has_results) {
      go_back();
      put_back_others(slice);
      return outcome;
    }
    const OuterRate rate = rate_of_round(mode(), share.round);
    for (const std::size_t i : slice.tensors())
      tensors_[i].apply_move(verdict_.factor, rate);
    return outcome;
  } catch (const Error&) {
    go_back();
    put_back_others(slice);
    throw;
  }
}

/// Gives the program the remembered parameters of other slices that are not finite: each of them
/// would skip its own round otherwise, and this rank could compute nothing until then.
void Multistep::put_back_others(const SliceExchange& slice) {
  for (const SliceExchange& other : slices_) {
    const auto is_broken = [&](std::size_t i) { return !tensors_[i].is_finite(); };
    if (&other == &slice || std::ranges::none_of(other.tensors(), is_broken)) continue;
    for (const std::size_t i : other.tensors())
      tensors_[i].go_back();
    clock_.forget(static_cast<std::uint32_t>(&other - slices_.data()));
  }
}

/// Takes the results of the round before, and starts the next one with the gradients of this step.
MultistepOutcome Multistep::turn(double weight, bool is_finished) {
  settle();
  MultistepOutcome outcome = came_.value_or(MultistepOutcome{});
  came_.reset();
  if (outcome.is_over) {
    is_over_ = true;
    return outcome;
  }
  if (!is_finished) clock_.step(weight);
  const RoundShare share = take_share(is_finished);
  // Work that has no results, as before the first round, is 0 or of no use.
  const double out = outcome.has_results ? verdict_.factor : 0;
  for (MultistepTensor& tensor : tensors_) {
    if (is_finished) tensor.clear_values();
    if (!outcome.has_results) tensor.clear();
    tensor.swap(out, share.factor());
  }
  start(slices_[0], share);
  under_way_ = share;
  return outcome;
}

/// Waits for the round that travels, if one does.
void Multistep::settle() {
  if (!under_way_) return;
  const RoundShare share = *std::exchange(under_way_, std::nullopt);
  try {
    came_ = wait(slices_[0], share);
    is_over_ = false;  // The caller does not know it yet.
  } catch (const Error&) {
    for (MultistepTensor& tensor : tensors_)
      tensor.clear();
    throw;
  }
}

void Multistep::start(SliceExchange& slice, const RoundShare& share) {
  slice.put(header_of(share));
  slice.ready_all();
}

RoundHeader Multistep::header_of(const RoundShare& share) const {
  return {.weight = share.weight,
          .finished = share.is_finished ? 1.0 : 0.0,
          .left_out = empty_rounds_.left_out_to_report() > 0 ? 1.0 : 0.0};
}

MultistepOutcome Multistep::wait(SliceExchange& slice, const RoundShare& share) {
  const auto [step, average] = slice.wait();
  verdict_ = clock_.judge(share, {average.weight, average.finished});
  is_over_ = verdict_.is_over;
  const MultistepOutcome outcome{.is_round_end = true,
                                 .round = share.round,
                                 .has_results = verdict_.has_results && step.is_applied,
                                 .is_over = verdict_.is_over,
                                 .non_finite = step.non_finite};
  const bool is_skipped = outcome.non_finite && !outcome.has_results;
  const auto warning = empty_rounds_.count_result(
      is_skipped ? std::optional(outcome.non_finite->rank) : std::nullopt);
  if (warning && events_ != nullptr) events_->warned(*warning);
  if (average.left_out > 0) warn_of_left_out();
  return outcome;
}

/// Warns on all ranks of those that have left out their steps again and again, by a collective.
void Multistep::warn_of_left_out() {
  const std::uint32_t own = empty_rounds_.left_out_to_report();
  std::vector<std::uint32_t> all(static_cast<std::size_t>(communicator_.size()));
  communicator_.all_gather(std::as_bytes(std::span(&own, 1)),
                           std::as_writable_bytes(std::span(all)));
  if (events_ == nullptr) return;
  for (const std::string& warning : warnings_of_left_out(all))
    events_->warned(warning);
}

GradientCounters Multistep::counters() {
  GradientCounters sum;
  for (SliceExchange& slice : slices_)
    sum.add(slice.gradients().counters());
  return sum;
}

/// Returns the state without the memory of tensors and codecs.
SavedMultistep Multistep::saved_head() {
  check_begun();
  if (contains(taken_, 1)) refuse_step("the state is saved between steps, not within one");
  settle();
  SavedMultistep state{.rank = communicator_.rank(),
                       .ranks = communicator_.size(),
                       .mode = to_string(mode()),
                       .clock = clock_.state()};
  if (came_) {
    state.unused = verdict_;
    state.unused->has_results = came_->has_results;
  }
  return state;
}

std::size_t Multistep::saved_bytes() {
  std::size_t bytes = encode(saved_head()).size();
  for (MultistepTensor& tensor : tensors_)
    bytes += comm::saved_bytes(tensor, mode().mode);
  for (SliceExchange& slice : slices_)
    bytes += kSavedCodecHead + slice.gradients().saved_bytes();
  return bytes;
}

std::vector<std::byte> Multistep::saved_state() {
  SavedMultistep state = saved_head();
  for (MultistepTensor& tensor : tensors_)
    state.tensors.push_back(saved(tensor, mode().mode));
  for (SliceExchange& slice : slices_)
    state.codecs.push_back(slice.gradients().saved_state());
  return encode(state);
}

void Multistep::load_state(std::span<const std::byte> saved) {
  check_begun();
  const SavedMultistep state = decode_multistep(saved);
  check_state_of(state, communicator_.rank(), communicator_.size(), mode());
  bool is_same = state.tensors.size() == tensors_.size() && state.codecs.size() == slices_.size();
  for (std::size_t i = 0; is_same && i < tensors_.size(); ++i)
    is_same = fits(state.tensors[i], tensors_[i], mode().mode);
  if (!is_same) refuse_step("the saved state has other tensors");
  if (under_way_) refuse_step("the state is loaded before the first step");
  for (std::size_t i = 0; i < slices_.size(); ++i)
    slices_[i].gradients().check_state(state.codecs[i]);
  clock_.restore(state.clock);
  is_over_ = false;
  has_compared_ = false;
  came_.reset();
  if (state.unused) {
    verdict_ = *state.unused;
    came_ = MultistepOutcome{.is_round_end = true,
                             .round = verdict_.round,
                             .has_results = verdict_.has_results,
                             .is_over = verdict_.is_over};
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    load(state.tensors[i], tensors_[i]);
  for (std::size_t i = 0; i < slices_.size(); ++i)
    slices_[i].gradients().load_state(state.codecs[i], SavedOrder::always);
}

}  // namespace fastgpu::comm
