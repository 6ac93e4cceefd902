#include "comm/multistep/multistep.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <exception>
#include <utility>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/communicator/broadcast_message.hpp"
#include "comm/fusion/fingerprint.hpp"

namespace fastgpu::comm {
namespace {

/// The beginning of the name of a tensor with what a rank contributes. The mode follows it: what
/// the tuner has found is kept for each mode.
constexpr std::string_view kHeaderName = "fastgpu_comm.round ";

/// The content of that tensor, averaged over the ranks.
struct Header {
  double weight = 0;
  double finished = 0;
  double left_out = 0;  ///< 1 for a rank that has left out its steps again and again.
};

/// The number of rounds in a row without results after which all ranks report it.
constexpr std::uint32_t kRoundsUntilReport = 3;

/// Returns true for the counts that are reported: few, however many there are.
bool is_reported(std::uint32_t rounds) noexcept {
  return rounds % kRoundsUntilReport == 0 && std::has_single_bit(rounds / kRoundsUntilReport);
}

Error refusal(const std::string& why) {
  return {ErrorKind::usage, "multistep: " + why};
}

[[noreturn]] void refuse_step(const std::string& why) {
  throw refusal(why);
}

/// Files of a rank have one name, so that one exchange alone may write them.
GradientSettings settings_of_slice(GradientSettings settings, std::size_t slice,
                                   const MultistepSettings& mode) {
  if (!averages_gradients(mode.mode)) settings.content = GradientContent::moves;
  if (slice > 0) settings.timeline = settings.counters = "";
  return settings;
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
  check_same_mode();
  std::vector<std::size_t> bytes;
  for (MultistepTensor& tensor : tensors_)
    bytes.push_back(tensor.work().size());
  const bool has_slices = mode().mode == MultistepMode::slices;
  const std::uint32_t count = has_slices ? mode().steps : 1;
  slice_of_ = slices_of_tensors(bytes, count);
  std::vector<Slice> slices(count);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    slices[i].exchange = std::make_unique<GradientExchange>(
        communicator_, settings_of_slice(settings_, i, mode()), events_);
    slices[i].header =
        slices[i].exchange->add({.name = std::string(kHeaderName) + to_string(mode()),
                                 .type = ElementType::float64,
                                 .shape = {sizeof(Header) / sizeof(double)}},
                                {});
  }
  id_of_.resize(tensors_.size());
  taken_.resize(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    Slice& slice = slices[slice_of_[i]];
    id_of_[i] = slice.exchange->add(tensors_[i].work_info(), tensors_[i].work());
    slice.tensors.push_back(i);
  }
  for (Slice& slice : slices)
    slice.exchange->view(slice.header);  // A collective, in which ranks that differ are named.
  if (!averages_gradients(mode().mode))
    for (MultistepTensor& tensor : tensors_) {
      if (!tensor.values().empty()) communicator_.broadcast(tensor.values(), Rank{0});
      tensor.remember(mode().momentum > 0);
    }
  slices_ = std::move(slices);
}

/// Compares the modes of ranks: a collective, before tensors are compared.
void Multistep::check_same_mode() {
  const std::string own = to_string(mode());
  const std::uint64_t number = Fingerprint().add(own).value();
  std::vector<std::uint64_t> all(static_cast<std::size_t>(communicator_.size()));
  communicator_.all_gather(std::as_bytes(std::span(&number, 1)),
                           std::as_writable_bytes(std::span(all)));
  const auto odd = std::ranges::find_if(all, [&](std::uint64_t each) { return each != all[0]; });
  if (odd == all.end()) return;
  const Rank rank{static_cast<int>(odd - all.begin())};
  const std::string theirs = broadcast_message(communicator_, rank, own);
  const std::string reference = broadcast_message(communicator_, {0}, own);
  throw communicator_.caused_by(
      rank, refusal("rank " + std::to_string(rank.value) + " has the mode " + theirs +
                    ", and rank 0 " + reference));
}

/// Compares the rounds in which ranks begin or continue: a collective in the first step after
/// `begin` or a loaded state.
void Multistep::check_same_round() {
  if (has_compared_rounds_) return;
  has_compared_rounds_ = true;
  const RoundClock::State& clock = clock_.state();
  Fingerprint others;
  others.add(std::bit_cast<std::uint64_t>(clock.step_weight)).add(clock.finished_rounds);
  others.add(static_cast<std::uint8_t>(came_.has_value()));
  for (const Slice& slice : slices_)
    others.add(slice.exchange->order());
  const std::array<std::uint64_t, 2> own{clock.round, others.value()};
  std::vector<std::array<std::uint64_t, 2>> all(static_cast<std::size_t>(communicator_.size()));
  communicator_.all_gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  const auto odd = std::ranges::find_if(all, [&](const auto& each) { return each != all[0]; });
  if (odd == all.end()) return;
  constexpr const char* kRemedy = ": load the states of one checkpoint on all ranks";
  const Rank rank{static_cast<int>(odd - all.begin())};
  const std::string name = "rank " + std::to_string(rank.value);
  const bool is_same_round = (*odd)[0] == all[0][0];
  throw communicator_.caused_by(
      rank,
      refusal(is_same_round ? name + " continues another training than rank 0" + kRemedy
                            : name + " continues in round " + std::to_string((*odd)[0]) +
                                  ", and rank 0 in round " + std::to_string(all[0][0]) + kRemedy));
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
  slices_[0].exchange->ready(id_of_[tensor]);
}

void Multistep::take_all(double weight) {
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (taken_[i] == 0) take(i, weight);
  std::ranges::fill(taken_, char{0});
}

MultistepOutcome Multistep::step() {
  check_can_go_on();
  check_same_round();
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
  check_same_round();
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
  check_same_round();
  weight_ = 1;
  if (mode().mode == MultistepMode::delay) return turn(0, true);
  if (mode().mode == MultistepMode::accumulate)
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      tensors_[i].scale_work(1 / clock_.reference());
      slices_[0].exchange->ready(id_of_[i]);
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
  const bool gives_nothing = is_left_out_ && share.weight == 0 && !is_finished;
  left_out_rounds_ = gives_nothing ? left_out_rounds_ + 1 : 0;
  return share;
}

/// Ends a round whose gradients are on their way.
MultistepOutcome Multistep::end_gradients(bool is_finished) {
  const RoundShare share = take_share(is_finished);
  Slice& slice = slices_[0];
  try {
    write_header(slice, share);
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
  Slice& slice = slices_[share.slice];
  for (const std::size_t i : slice.tensors)
    if (share.weight > 0)
      tensors_[i].measure_move(share.factor());
    else
      tensors_[i].clear();
  const auto go_back = [&] {
    for (const std::size_t i : slice.tensors)
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
    for (const std::size_t i : slice.tensors)
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
void Multistep::put_back_others(const Slice& slice) {
  for (const Slice& other : slices_) {
    const auto is_broken = [&](std::size_t i) { return !tensors_[i].is_finite(); };
    if (&other == &slice || std::ranges::none_of(other.tensors, is_broken)) continue;
    for (const std::size_t i : other.tensors)
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

void Multistep::start(Slice& slice, const RoundShare& share) {
  write_header(slice, share);
  for (const std::size_t i : slice.tensors)
    slice.exchange->ready(id_of_[i]);
}

void Multistep::write_header(Slice& slice, const RoundShare& share) {
  const Header header{.weight = share.weight,
                      .finished = share.is_finished ? 1.0 : 0.0,
                      .left_out = is_reported(left_out_rounds_) ? 1.0 : 0.0};
  const std::span<std::byte> view = slice.exchange->view(slice.header);
  std::memcpy(view.data(), &header, sizeof(header));
  slice.exchange->ready(slice.header);
}

MultistepOutcome Multistep::wait(Slice& slice, const RoundShare& share) {
  const StepOutcome step = slice.exchange->wait_step();
  Header header;
  const std::span<const std::byte> view = slice.exchange->view(slice.header);
  std::memcpy(&header, view.data(), sizeof(header));
  verdict_ = clock_.judge(share, {header.weight, header.finished});
  is_over_ = verdict_.is_over;
  const MultistepOutcome outcome{.is_round_end = true,
                                 .round = share.round,
                                 .has_results = verdict_.has_results && step.is_applied,
                                 .is_over = verdict_.is_over,
                                 .non_finite = step.non_finite};
  report_lost_rounds(outcome);
  report_left_out(header.left_out);
  return outcome;
}

/// Reports rounds that are skipped again and again. Every rank does so.
void Multistep::report_lost_rounds(const MultistepOutcome& outcome) {
  lost_rounds_ = outcome.non_finite && !outcome.has_results ? lost_rounds_ + 1 : 0;
  if (lost_rounds_ == 0 || !is_reported(lost_rounds_) || events_ == nullptr) return;
  events_->warned("multistep: the last " + std::to_string(lost_rounds_) +
                  " rounds were skipped, and all ranks have lost their steps: rank " +
                  std::to_string(outcome.non_finite->rank.value) +
                  " has numbers that are not finite");
}

/// Tells all ranks which of them have left out their steps again and again, by a collective:
/// `part`, the part of the ranks, is the same on each of them.
void Multistep::report_left_out(double part) {
  if (part == 0) return;
  const std::uint32_t own = is_reported(left_out_rounds_) ? left_out_rounds_ : 0;
  std::vector<std::uint32_t> all(static_cast<std::size_t>(communicator_.size()));
  communicator_.all_gather(std::as_bytes(std::span(&own, 1)),
                           std::as_writable_bytes(std::span(all)));
  for (std::size_t rank = 0; events_ != nullptr && rank < all.size(); ++rank)
    if (all[rank] > 0)
      events_->warned("multistep: rank " + std::to_string(rank) + " gave nothing to the last " +
                      std::to_string(all[rank]) +
                      " rounds: it has left out its steps, such as for gradients that are not "
                      "finite");
}

GradientCounters Multistep::counters() {
  GradientCounters sum;
  for (Slice& slice : slices_) {
    const GradientCounters each = slice.exchange->counters();
    sum.steps += each.steps;
    sum.steps_without_results += each.steps_without_results;
    sum.buckets += each.buckets;
    sum.bucket_bytes += each.bucket_bytes;
    sum.negotiation_messages += each.negotiation_messages;
    sum.negotiation_bytes += each.negotiation_bytes;
    sum.late_ranks += each.late_ranks;
    sum.ready_seconds += each.ready_seconds;
    sum.unpack_seconds += each.unpack_seconds;
    sum.wait_seconds += each.wait_seconds;
  }
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
    bytes += kSavedTensorHead + tensor.info().name.size() +
             (averages_gradients(mode().mode)
                  ? tensor.work().size()
                  : tensor.values().size() + tensor.anchor().size() + tensor.momentum().size());
  for (Slice& slice : slices_)
    bytes += kSavedCodecHead + slice.exchange->saved_bytes();
  return bytes;
}

std::vector<std::byte> Multistep::saved_state() {
  SavedMultistep state = saved_head();
  const auto copy = [](std::span<const std::byte> bytes) {
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  for (MultistepTensor& tensor : tensors_) {
    SavedTensor& saved = state.tensors.emplace_back();
    saved.name = tensor.info().name;
    if (averages_gradients(mode().mode)) {
      saved.work = copy(tensor.work());
      continue;
    }
    saved.values = copy(tensor.values());
    saved.anchor = copy(tensor.anchor());
    saved.momentum = copy(tensor.momentum());
  }
  for (Slice& slice : slices_)
    state.codecs.push_back(slice.exchange->saved_state());
  return encode(state);
}

void Multistep::load_state(std::span<const std::byte> saved) {
  check_begun();
  const SavedMultistep state = decode_multistep(saved);
  if (state.rank != communicator_.rank() || state.ranks != communicator_.size())
    refuse_step("this is the state of rank " + std::to_string(state.rank.value) + " of " +
                std::to_string(state.ranks) + ", not of rank " +
                std::to_string(communicator_.rank().value) + " of " +
                std::to_string(communicator_.size()));
  if (state.mode != to_string(mode()))
    refuse_step("this is a state of " + state.mode + ", not of " + to_string(mode()));
  bool is_same = state.tensors.size() == tensors_.size() && state.codecs.size() == slices_.size();
  const bool has_gradients = averages_gradients(mode().mode);
  for (std::size_t i = 0; is_same && i < tensors_.size(); ++i) {
    const SavedTensor& theirs = state.tensors[i];
    MultistepTensor& mine = tensors_[i];
    is_same = theirs.name == mine.info().name &&
              theirs.work.size() == (has_gradients ? mine.work().size() : 0) &&
              theirs.values.size() == (has_gradients ? 0 : mine.values().size()) &&
              theirs.anchor.size() == mine.anchor().size() &&
              theirs.momentum.size() == mine.momentum().size();
  }
  if (!is_same) refuse_step("the saved state has other tensors");
  if (under_way_) refuse_step("the state is loaded before the first step");
  for (std::size_t i = 0; i < slices_.size(); ++i)
    slices_[i].exchange->check_state(state.codecs[i]);
  clock_.restore(state.clock);
  is_over_ = false;
  has_compared_rounds_ = false;
  came_.reset();
  if (state.unused) {
    verdict_ = *state.unused;
    came_ = MultistepOutcome{.is_round_end = true,
                             .round = verdict_.round,
                             .has_results = verdict_.has_results,
                             .is_over = verdict_.is_over};
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const SavedTensor& theirs = state.tensors[i];
    std::ranges::copy(theirs.work, tensors_[i].work().begin());
    std::ranges::copy(theirs.values, tensors_[i].values().begin());
    std::ranges::copy(theirs.anchor, tensors_[i].anchor().begin());
    std::ranges::copy(theirs.momentum, tensors_[i].momentum().begin());
  }
  for (std::size_t i = 0; i < slices_.size(); ++i)
    slices_[i].exchange->load_state(state.codecs[i], SavedOrder::always);
}

}  // namespace fastgpu::comm
