#include "comm/gossip/gossip.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/common/version.hpp"
#include "comm/communicator/broadcast_message.hpp"
#include "comm/fusion/fingerprint.hpp"
#include "comm/gossip/gossip_state.hpp"
#include "comm/kernels/convert.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kStretch = std::size_t{1} << 20;  ///< The numbers that are mixed at once.
constexpr std::size_t kFlights = 4;                     ///< Stretches on their way at a time.
/// The most numbers of a parameter that no codec touches, and the most of all such ones as a part
/// of the model. Biases, the scales of norms and a small last layer decide much: as they are they
/// cost little, and training needs fewer steps.
constexpr std::size_t kMostOfSmall = 1024;
constexpr double kPartOfSmall = 0.02;
constexpr Reduction kAverage{ElementType::float32, ReduceOp::average};

/// The data that all ranks must have in common before the first step.
struct GossipIdentity {
  std::uint64_t library = 0;
  std::uint64_t parameters = 0;
  SharedOfGossip settings{};
  std::uint64_t has_timeline = 0;
  std::uint64_t step = 0;
  std::uint64_t state = 0;
};

Rank rank_of(int member) noexcept {
  return {member};
}

}  // namespace

Gossip::Gossip(Communicator& communicator, GossipSettings settings, GradientEvents* events)
    : communicator_(communicator),
      settings_(std::move(settings)),
      events_(events),
      plan_(settings_, communicator.topology(), communicator.rank()),
      rungs_(guard_rungs(settings_, plan_.method(), plan_.lag())),
      plain_{spread_of(plan_.contraction()), plan_.lag()} {}

Gossip::~Gossip() = default;

void Gossip::add(const std::string& name, std::span<float> values) {
  if (levels_ || !stretches_.empty())
    throw Error(ErrorKind::usage, "parameter '" + printable(name) +
                                      "': register it before the first step, and before a state "
                                      "is loaded");
  if (!names_.insert(name).second)
    throw Error(ErrorKind::usage, "parameter '" + printable(name) + "' is registered already");
  parameters_.push_back({name, values});
  count_ += values.size();
}

// ---- before the first step ----

std::uint64_t Gossip::registration() const {
  Fingerprint number;
  for (const Parameter& each : parameters_)
    number.add(each.name).add(std::uint64_t{each.values.size()});
  return number.value();
}

void Gossip::check_same() {
  GossipIdentity own{.library = Fingerprint().add(std::string_view(FASTGPU_VERSION)).value(),
                     .parameters = registration(),
                     .settings = shared_of(settings_),
                     .has_timeline = static_cast<std::uint64_t>(!settings_.timeline.empty()),
                     .step = step_,
                     .state = number_of(guard_)};
  std::vector<GossipIdentity> all(static_cast<std::size_t>(communicator_.size()));
  communicator_.all_gather(std::as_bytes(std::span(&own, 1)),
                           std::as_writable_bytes(std::span(all)));
  const GossipIdentity& first = all.front();
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const GossipIdentity& each = all[rank];
    const auto differs = [&](const std::string& what) {
      return communicator_.caused_by(
          {static_cast<int>(rank)}, Error(ErrorKind::usage, "rank " + std::to_string(rank) + what));
    };
    if (each.library != first.library) throw differs(" runs another libfastgpu_comm than rank 0");
    std::string_view variable = differing_variable(each.settings, first.settings);
    if (variable.empty() && each.has_timeline != first.has_timeline)
      variable = "FASTGPU_COMM_TIMELINE";
    if (!variable.empty())
      throw differs(" has another " + std::string(variable) +
                    " than rank 0: all ranks need the same");
    if (each.parameters != first.parameters)
      throw differs(" has registered other parameters than rank 0");
    if (each.step != first.step || each.state != first.state)
      throw differs(" continues after " + std::to_string(each.step) + " steps, and rank 0 after " +
                    std::to_string(first.step) +
                    ": load the states of one checkpoint on all ranks");
  }
}

/// Places the parameters, those that no codec touches first, the smallest ones before others.
/// Returns how many numbers these have.
std::size_t Gossip::place_parameters() {
  std::vector<Parameter*> by_size;
  for (Parameter& each : parameters_)
    by_size.push_back(&each);
  if (settings_.codec)
    std::ranges::stable_sort(by_size, {}, [](const Parameter* p) { return p->values.size(); });
  const double most = kPartOfSmall * static_cast<double>(count_);
  std::size_t at = 0, of_small = 0;
  for (Parameter* const each : by_size) {
    each->at = at;
    at += each->values.size();
    const bool is_small = each->values.size() <= kMostOfSmall && static_cast<double>(at) <= most;
    if (settings_.codec && is_small) of_small = at;
  }
  return of_small;
}

void Gossip::lay_out() {
  const std::size_t of_small = place_parameters();
  const std::size_t places = plan_.places();
  slice_ = (count_ + places - 1) / places;
  numbers_.assign(slice_ * places, 0);
  if (places > 1) mine_.assign(slice_, 0);
  scratch_.assign(std::min(slice_, kStretch), 0);
  const std::size_t neighbours = plan_.row_at(0).from.size();
  const std::size_t begin = plan_.place() * slice_;
  const std::size_t small = std::min(of_small - std::min(of_small, begin), slice_);
  stretches_.clear();
  const auto add_stretches = [&](std::size_t from, std::size_t to, MixMethod method) {
    for (std::size_t at = from; at < to; at += kStretch) {
      const std::size_t count = std::min(kStretch, to - at);
      stretches_.push_back({at, count, make_mixer(method, count, neighbours)});
    }
  };
  add_stretches(0, small, MixMethod::averaging);
  add_stretches(small, slice_, plan_.method());
}

void Gossip::begin() {
  if (levels_) return;
  check_same();
  control_ = communicator_.split(0, 0);
  all_ = communicator_.split(0, 0);
  levels_.emplace(reduction_levels_of(communicator_));
  control_->name_calls("the distance of gossip");
  recorder_.emplace(*control_, settings_, [this](const std::string& sentence) { warn(sentence); });
  all_->name_calls("an exact step of gossip");
  levels_->inside.name_calls("a step of gossip");
  if (levels_->across) levels_->across->name_calls("a step of gossip");
  if (stretches_.empty()) lay_out();
}

const Codec* Gossip::codec_of(const GuardRung& rung) {
  if (!rung.codec) return nullptr;
  auto& codec = codecs_[{static_cast<int>(rung.codec->id), rung.codec->part}];
  if (!codec) codec = make_codec(*rung.codec);
  return codec.get();
}

// ---- the guard ----

/// The first measurements come early: a step size that is far too large shows soon.
bool Gossip::is_measured(std::uint64_t step) const noexcept {
  const auto every = static_cast<std::uint64_t>(settings_.guard);
  if (every == 0 || step == 0 || plan_.members() == 1 || plan_.method() == MixMethod::exact)
    return false;
  return step < every ? std::has_single_bit(step) : step % every == 0;
}

void Gossip::warn(const std::string& sentence) {
  if (events_ != nullptr) events_->warned(sentence);
}

void Gossip::finish_measuring() {
  if (!measuring_) return;
  measuring_->wait();
  measuring_.reset();
  heard_ = meter_.sums();
}

/// Takes the measurement that was begun in the last step. All ranks have the same sums, to the last
/// bit, and so decide alike.
GuardAction Gossip::hear_guard() {
  finish_measuring();
  if (!heard_) return GuardAction::none;
  const GuardMeasure measure = DistanceMeter::measure_of(*heard_, communicator_.size());
  heard_.reset();
  measured_ = step_ - 1;
  const GuardDecision decision = decide(guard_, measure, rungs_, plain_);
  guard_ = decision.state;
  is_exact_next_ = is_exact_next_ || decision.is_exact_next;
  const bool is_news = decision.action != GuardAction::none || decision.is_exact_next;
  if (is_news && communicator_.rank() == Rank{0}) warn(describe(decision, rungs_, step_));
  return decision.action;
}

// ---- a step ----

void Gossip::pack() {
  for (const Parameter& each : parameters_) {
    const auto found = first_non_finite(std::as_bytes(each.values), ElementType::float32);
    if (found) {
      const Error error(ErrorKind::remote, "parameter '" + printable(each.name) + "' of rank " +
                                               std::to_string(communicator_.rank().value) +
                                               " is not finite at index " + std::to_string(*found) +
                                               " before gossip step " + std::to_string(step_));
      communicator_.give_up(error);
      throw Error(error);
    }
    std::ranges::copy(each.values, numbers_.begin() + static_cast<std::ptrdiff_t>(each.at));
  }
}

void Gossip::unpack() {
  for (const Parameter& each : parameters_)
    std::ranges::copy(std::span(numbers_).subspan(each.at, each.values.size()),
                      each.values.begin());
}

GossipReport Gossip::step() {
  begin();
  const auto began = Timeline::Clock::now();
  GossipReport report{.step = step_};
  report.action = hear_guard();
  pack();
  if (meter_.has_note()) {
    meter_.take(std::span(numbers_).first(count_));
    measuring_.emplace(control_->start_all_reduce(std::as_writable_bytes(std::span(meter_.sums())),
                                                  {ElementType::float64, ReduceOp::sum}));
    report.bytes += 2 * sizeof(DistanceMeter::Sums);
  }
  const GuardRung& rung = rungs_[guard_.rung];
  const auto every = static_cast<std::uint64_t>(rung.exact_every);
  report.is_exact = is_exact_next_ || (every > 0 && step_ % every == 0);
  is_exact_next_ = false;
  if (report.is_exact)
    average_exactly(report);
  else
    mix(report);
  unpack();
  report.rung = rung;
  report.guard_level = guard_.rung;
  report.distance = guard_.distance;
  report.measured = measured_;
  recorder_->step_ended(report, began);
  ++step_;
  if (is_measured(step_)) meter_.note(std::span(numbers_).first(count_));
  return report;
}

void Gossip::average_exactly(GossipReport& report) {
  all_->all_reduce(std::span(numbers_), ReduceOp::average);
  const auto members = static_cast<std::uint64_t>(plan_.members());
  report.bytes += 2 * (members - 1) * slice_ * sizeof(float) / members;
  const std::span<const float> values = slice();
  for (Stretch& each : stretches_)
    each.mixer->agree(values.subspan(each.at, each.count));
}

void Gossip::mix(GossipReport& report) {
  const bool has_places = plan_.places() > 1;
  if (has_places)
    levels_->inside.reduce_scatter(std::as_bytes(std::span(numbers_)),
                                   std::as_writable_bytes(std::span(mine_)), kAverage);
  const MixingRow row = plan_.row_at(step_);
  report.neighbours = row.to.size();
  const GuardRung& rung = rungs_[guard_.rung];
  MixStep step{
      .codec = codec_of(rung), .step_size = rung.step_size, .own = row.own, .scratch = scratch_};
  std::vector<Flight> flights(std::min(kFlights, stretches_.size()));
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    Flight& flight = flights[i % flights.size()];
    if (i >= flights.size()) land(flight, row, step);
    launch(flight, i, row, step);
    report.bytes += flight.out.size() * row.to.size();
  }
  for (std::size_t i = 0; i < flights.size(); ++i)
    land(flights[(stretches_.size() + i) % flights.size()], row, step);
  if (has_places)
    levels_->inside.all_gather(std::as_bytes(std::span(mine_)),
                               std::as_writable_bytes(std::span(numbers_)));
}

void Gossip::launch(Flight& flight, std::size_t stretch, const MixingRow& row, MixStep& step) {
  Communicator& members = levels_->across ? *levels_->across : levels_->inside;
  Stretch& each = stretches_[stretch];
  const std::span<float> values = plan_.places() > 1 ? std::span(mine_) : slice();
  const std::size_t bytes = each.mixer->message_bytes(step.codec);
  flight.stretch = stretch;
  flight.out.resize(bytes);
  flight.in.resize(row.from.size());
  for (std::size_t k = 0; k < row.from.size(); ++k) {
    flight.in[k].resize(bytes);
    flight.handles.push_back(members.start_receive(flight.in[k], rank_of(row.from[k].member)));
  }
  step.seed = Fingerprint()
                  .add(step_)
                  .add(static_cast<std::uint32_t>(communicator_.rank().value))
                  .add(std::uint64_t{stretch})
                  .value();
  each.mixer->write(flight.out, values.subspan(each.at, each.count), step);
  for (const int to : row.to)
    flight.handles.push_back(members.start_send(flight.out, rank_of(to)));
}

void Gossip::land(Flight& flight, const MixingRow& row, MixStep& step) {
  for (Handle& handle : flight.handles)
    handle.wait();
  flight.handles.clear();
  std::vector<MixIncoming> incoming;
  for (std::size_t k = 0; k < row.from.size(); ++k)
    incoming.push_back({flight.in[k], row.from[k].weight});
  Stretch& each = stretches_[flight.stretch];
  const std::span<float> values = plan_.places() > 1 ? std::span(mine_) : slice();
  try {
    each.mixer->mix(values.subspan(each.at, each.count), flight.out, incoming, step);
  } catch (const MixFailure& failure) {
    const std::string sender = std::to_string(row.from[failure.neighbour].member);
    const Error named = failure.error.during(std::string(levels_->across ? "node " : "rank ") +
                                             sender + " has sent");
    communicator_.give_up(named);
    throw Error(named);
  }
}

// ---- checkpoints ----

/// Returns the state without the memory of mixers.
SavedGossip Gossip::saved_head() {
  finish_measuring();
  SavedGossip saved{.rank = communicator_.rank().value,
                    .ranks = communicator_.size(),
                    .registration = registration(),
                    .settings = shared_of(settings_),
                    .step = step_,
                    .measured = measured_,
                    .guard = guard_,
                    .is_exact_next = is_exact_next_};
  saved.sums = heard_;
  if (meter_.has_note()) saved.noted = meter_.noted();
  return saved;
}

std::size_t Gossip::saved_bytes() {
  std::size_t bytes = encode(saved_head()).size();
  for (Stretch& each : stretches_) {
    for (const std::span<float> numbers : each.mixer->memory())
      bytes += numbers.size_bytes();
    if (each.mixer->weight() != nullptr) bytes += sizeof(double);
  }
  return bytes;
}

std::vector<std::byte> Gossip::saved_state() {
  SavedGossip saved = saved_head();
  for (Stretch& each : stretches_) {
    for (const std::span<float> numbers : each.mixer->memory())
      saved.numbers.insert(saved.numbers.end(), numbers.begin(), numbers.end());
    if (const double* const weight = each.mixer->weight()) saved.weights.push_back(*weight);
  }
  return encode(saved);
}

void Gossip::load_state(std::span<const std::byte> bytes) {
  if (levels_) throw Error(ErrorKind::usage, "load the state of gossip before the first step");
  const SavedGossip saved = decode_gossip(bytes);
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorKind::usage, "a saved state of gossip is " + what);
  };
  if (saved.rank != communicator_.rank().value || saved.ranks != communicator_.size())
    refuse("that of rank " + std::to_string(saved.rank) + " of " + std::to_string(saved.ranks) +
           ", not of rank " + std::to_string(communicator_.rank().value) + " of " +
           std::to_string(communicator_.size()));
  if (saved.registration != registration()) refuse("that of other parameters");
  const std::string_view variable = differing_variable(saved.settings, shared_of(settings_));
  if (!variable.empty()) refuse("that of another " + std::string(variable));
  if (saved.guard.rung >= rungs_.size()) refuse("damaged: it has an unknown way of mixing");
  lay_out();
  std::size_t numbers = 0;
  std::size_t weights = 0;
  for (Stretch& each : stretches_) {
    for (const std::span<float> of : each.mixer->memory())
      numbers += of.size();
    weights += each.mixer->weight() != nullptr ? 1 : 0;
  }
  const bool is_whole = saved.step == 0
                            ? saved.numbers.empty() && saved.weights.empty()
                            : saved.numbers.size() == numbers && saved.weights.size() == weights;
  if (!is_whole) {
    stretches_.clear();
    refuse("damaged: it has " + std::to_string(saved.numbers.size()) + " numbers instead of " +
           std::to_string(numbers));
  }
  if (saved.step > 0) {
    std::size_t at = 0;
    std::size_t weight = 0;
    for (Stretch& each : stretches_) {
      for (const std::span<float> of : each.mixer->memory()) {
        std::ranges::copy(std::span(saved.numbers).subspan(at, of.size()), of.begin());
        at += of.size();
      }
      if (double* const own = each.mixer->weight()) *own = saved.weights[weight++];
    }
  }
  step_ = saved.step;
  measured_ = saved.measured;
  guard_ = saved.guard;
  is_exact_next_ = saved.is_exact_next;
  heard_ = saved.sums;
  meter_.set_note(saved.noted.has_value());
  if (saved.noted) meter_.noted() = *saved.noted;
}

}  // namespace fastgpu::comm
