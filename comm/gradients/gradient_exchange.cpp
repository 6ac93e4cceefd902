#include "comm/gradients/gradient_exchange.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/gradients/agree.hpp"
#include "comm/gradients/codec_traits.hpp"
#include "comm/gradients/gradient_check.hpp"
#include "comm/gradients/saved_gradients.hpp"

namespace fastgpu::comm {

GradientExchange::GradientExchange(Communicator& communicator, GradientSettings settings,
                                   GradientEvents* events)
    : communicator_(communicator),
      settings_(std::move(settings)),
      events_(events),
      memory_(table_),
      codec_(table_, settings_),
      order_(table_),
      buffer_(communicator_, table_, wire_) {}

GradientExchange::~GradientExchange() = default;

GradientId GradientExchange::add(GradientInfo info, std::span<std::byte> values,
                                 const std::shared_ptr<gpu::Device>& device) {
  const Lock lock(mutex_);
  if (launcher_)
    throw Error(ErrorKind::usage, "gradient '" + printable(info.name) +
                                      "': register it before the first step begins");
  check_gradient(info, values, device.get(), settings_);
  const GradientId id = table_.add(std::move(info));
  memory_.add(values);
  device_tensors_.add(values, device);
  codec_.gradient_added();
  return id;
}

// ---- before the first step, and when plans change ----

void GradientExchange::begin(const Lock&) {
  if (launcher_) return;
  const bool counts = settings_.wire == WireType::encoded &&
                      (settings_.codec.warmup > 0 || settings_.codec.memory > 0);
  const bool has_one_order =
      check_same_registration(communicator_, {.table = table_,
                                              .settings = settings_,
                                              .op = op_,
                                              .steps = counts ? codec_.steps() : 0,
                                              .order = order_.loaded_fingerprint()});
  order_.begin(communicator_, has_one_order);
  wire_ = wire_types(table_, settings_);
  device_sums_ = device_sums_of(communicator_, settings_, device_tensors_);
  control_ = communicator_.split(0, 0);
  control_->name_calls("the end of a step of gradients");
  recorder_.emplace(*control_, settings_, [this](const std::string& sentence) { warn(sentence); });
  const auto doubt = doubt_of_patterns(table_, settings_);
  if (doubt && communicator_.rank() == Rank{0}) warn(*doubt);
  messages_.emplace(StepMessages::Parts{*control_, *recorder_, table_}, settings_.stall,
                    [this](const std::string& sentence) { warn(sentence); });
  const bool is_on_host = device_tensors_.devices().empty();
  tuning_.emplace(*control_, settings_, table_,
                  is_on_host ? Tuning::Advice::of_codec : Tuning::Advice::none, events_);
  const int streams = settings_.is_tuned ? kMostStreams : settings_.streams;
  const Exchange exchange = traits_of(settings_, communicator_.size()).exchange;
  streams_.emplace(communicator_, streams, exchange);
  codec_.begin(exchange);
  progress_ = StepProgress(table_.size());
  lay_out();
  if (communicator_.size() == 1) return;
  // Ranks that wait must know this once they have waited for settings_.stall.
  const auto soon =
      std::max<std::chrono::milliseconds>(settings_.stall * 3 / 4, std::chrono::milliseconds(1));
  watch_.emplace(mutex_, soon, [this](std::chrono::milliseconds lasted) { notify_late(lasted); });
}

void GradientExchange::lay_out() {
  const TunerSetting& setting = tuning_->current();
  launcher_.reset();
  codec_.drop_sums();
  devices_.reset();
  buffer_.lay_out(
      plan_fusion(table_, order_.gradients(), wire_, setting.bucket, codec_.encoded(),
                  streams_->factors().empty() ? EncodedPieces::cut : EncodedPieces::whole));
  if (!device_tensors_.devices().empty()) lay_out_devices();
  if (settings_.is_tuned) communicator_.use_flows(setting.flows);
  streams_->use_plan(setting.plan);
  // On a device all sums are made in one order.
  const auto streams = device_sums_ ? 1 : static_cast<std::size_t>(setting.streams);
  BucketLauncher::Ways ways{.device = devices_ ? devices_->summing() : nullptr};
  if (!codec_.encoded().empty()) {
    make_encoded_sums();
    ways.encoded = codec_.sums();
  } else {
    ways.levels = streams_->levels();
  }
  launcher_.emplace(buffer_.plan(), buffer_.bytes(), streams_->first(streams), ways,
                    recorder_->timeline());
  begin_launching();
}

/// Makes the sums of encoded buckets for the codec of this step.
void GradientExchange::make_encoded_sums() {
  const auto used = static_cast<std::size_t>(tuning_->current().streams);
  on_device([&] {
    codec_.make_sums({.plan = buffer_.plan(),
                      .buffer = buffer_.bytes(),
                      .streams = streams_->first(used),
                      .factor_streams = streams_->factors(),
                      .levels = streams_->levels(),
                      .device = devices_ ? devices_->only() : nullptr});
  });
}

void GradientExchange::lay_out_devices() {
  std::vector<ElementType> types;
  for (std::size_t i = 0; i < table_.size(); ++i)
    types.push_back(table_[{i}].type);
  const bool is_searched = settings_.non_finite != NonFiniteAction::off;
  on_device([&] {
    devices_ = std::make_unique<GradientsOnDevices>(
        device_tensors_, buffer_.plan(), buffer_.bytes(),
        DeviceGradients::Settings{types, is_searched, device_sums_.get()},
        DeviceGradients::Reports{[this](const PackedPiece& packed) { device_packed(packed); },
                                 [this](const Error& error) { communicator_.give_up(error); }});
  });
}

/// Changes to the codec of this step where a warm-up has another one than for the last.
void GradientExchange::follow_warmup() {
  if (codec_.has_outgrown_sums()) make_encoded_sums();
}

void GradientExchange::begin_launching() {
  launcher_->begin_step(op_, progress_.step(), codec_.steps());
  if (!devices_) return;
  std::vector<bool> stays;
  for (std::size_t i = 0; i < buffer_.plan().buckets.size(); ++i)
    stays.push_back(codec_.has_on_device(i, op_));
  devices_->begin_step([op = op_, ranks = communicator_.size()](
                           ElementType wire) { return scale_before(wire, op, ranks); },
                       stays);
}

std::span<std::byte> GradientExchange::view(GradientId id) {
  const Lock lock(mutex_);
  check_exists(id);
  begin(lock);
  if (device_tensors_.has(id))
    throw Error(ErrorKind::usage,
                "gradient '" + printable(table_[id].name) + "' is on a device: it has no view");
  memory_.make_view(id);
  return buffer_.of(id);
}

ElementType GradientExchange::wire_type(GradientId id) const {
  check_exists(id);
  return launcher_ ? wire_[id.value] : wire_types(table_, settings_)[id.value];
}

void GradientExchange::use_operation(ReduceOp op) {
  const Lock lock(mutex_);
  if (op == op_) return;
  check_between_steps("the operation is changed");
  op_ = op;
  if (launcher_) begin_launching();
}

void GradientExchange::check_between_steps(std::string_view what) const {
  if (!progress_.is_between_steps())
    throw Error(ErrorKind::usage, std::string(what) + " between steps, not within one");
}

std::vector<std::byte> GradientExchange::saved_state() {
  const Lock lock(mutex_);
  const PlannedOrder::Names order = order_.names();
  // The order alone is the same within a step, such as one that has failed.
  if (settings_.wire != WireType::encoded)
    return order ? encode(SavedGradients{.order = order}) : std::vector<std::byte>{};
  check_between_steps("the state of codecs is saved");
  return encode(SavedGradients{.order = order,
                               .codec = codec_.saved(communicator_.rank(), communicator_.size())});
}

std::size_t GradientExchange::saved_bytes() {
  const Lock lock(mutex_);
  const PlannedOrder::Names order = order_.names();
  const bool has_codec = settings_.wire == WireType::encoded;
  if (has_codec) check_between_steps("the state of codecs is saved");
  if (!order && !has_codec) return 0;
  return encode(SavedGradients{.order = order}).size() + (has_codec ? codec_.saved_bytes() : 0);
}

std::uint64_t GradientExchange::order() const {
  return order_.fingerprint();
}

CodecState GradientExchange::decode_codec(std::span<const std::byte> saved) const {
  return codec_.decoded(saved, communicator_.rank(), communicator_.size());
}

void GradientExchange::check_state(std::span<const std::byte> saved) {
  const Lock lock(mutex_);
  check_between_steps("the state of codecs is loaded");
  const SavedGradients state = decode_gradients(saved);
  if (!state.codec.empty()) decode_codec(state.codec);
}

void GradientExchange::load_state(std::span<const std::byte> saved, SavedOrder which) {
  const Lock lock(mutex_);
  check_between_steps("the state of codecs is loaded");
  if (saved.empty() && which == SavedOrder::before_first_step) return;
  const SavedGradients state = decode_gradients(saved);
  std::optional<CodecState> codec;
  if (!state.codec.empty()) codec = decode_codec(state.codec);
  if (which == SavedOrder::always || !order_.is_known()) take_order(state.order);
  if (!codec) return;
  codec_.take(std::move(*codec));
  follow_warmup();
  if (launcher_) begin_launching();
}

/// Plans buckets by the order of a saved state. This moves views, with their content.
void GradientExchange::take_order(const PlannedOrder::Names& names) {
  if (!launcher_)
    order_.load(names);
  else if (order_.take(names))
    move_views();
}

// ---- within a step ----

void GradientExchange::check_exists(GradientId id) const {
  if (id.value >= table_.size())
    throw Error(ErrorKind::usage, "there is no gradient number " + std::to_string(id.value) +
                                      " among " + std::to_string(table_.size()));
}

const GradientInfo& GradientExchange::info(GradientId id) const {
  check_exists(id);
  return table_[id];
}

void GradientExchange::ready(GradientId id, gpu::StreamHandle stream) {
  {
    const Lock lock(mutex_);
    begin_gradient(lock, id);
  }
  travel(id, stream);
}

void GradientExchange::ready_at(GradientId id, std::span<std::byte> values) {
  {
    const Lock lock(mutex_);
    check_exists(id);
    const auto refuse = [&](const std::string& why) {
      throw Error(ErrorKind::usage, "gradient '" + printable(table_[id].name) + "' " + why);
    };
    if (device_tensors_.has(id)) refuse("is on a device: it has no other place");
    if (values.size() != table_.bytes(id))
      refuse("has " + std::to_string(table_.bytes(id)) + " bytes, but memory of " +
             std::to_string(values.size()));
    if (memory_.is_view(id) && !values.empty())
      refuse("is written into its view: it has no other place");
    begin_gradient(lock, id);
    memory_.place_for_step(id, values);
  }
  travel(id, nullptr);
}

/// Notes that this rank has made the gradient ready in this step.
void GradientExchange::begin_gradient(const Lock& lock, GradientId id) {
  check_exists(id);
  begin(lock);
  if (!progress_.begin(id))
    throw Error(ErrorKind::usage,
                "gradient '" + printable(table_[id].name) + "' is ready already in this step");
}

/// Packs a gradient, and launches the buckets that are complete then.
void GradientExchange::travel(GradientId id, gpu::StreamHandle stream) {
  const auto began = Timeline::Clock::now();
  if (device_tensors_.has(id))
    on_device([&] { devices_->ready(id, stream); });
  else
    pack(id);
  const auto ended = Timeline::Clock::now();
  if (recorder_->timeline() != nullptr)
    recorder_->timeline()->add(
        {"ready", 0, progress_.step(), id.value, began, ended, table_.bytes(id)});
  const Lock lock(mutex_);
  recorder_->counters().ready_seconds += seconds_of(ended - began);
  progress_.ready(id);
  launcher_->gradient_ready(id);
}

void GradientExchange::pack(GradientId id) {
  for (const BucketLauncher::PiecePlace& place : launcher_->places_of(id)) {
    const auto found = pack(place.piece);
    const Lock lock(mutex_);
    piece_is_packed({place.bucket, place.piece, found});
  }
}

void GradientExchange::device_packed(const PackedPiece& packed) {
  // A bucket that stays on the device has its residuals there.
  if (!codec_.has_on_device(packed.bucket, op_))
    codec_.add_state(packed.piece, buffer_.of(packed.piece), op_);
  const Lock lock(mutex_);
  piece_is_packed(packed);
}

void GradientExchange::piece_is_packed(const PackedPiece& packed) {
  if (packed.non_finite) {
    const GradientPiece& piece = packed.piece;
    const ElementType type = wire_[piece.gradient.value];
    progress_.found({communicator_.rank(), piece.gradient, piece.first + *packed.non_finite,
                     non_finite_at(buffer_.of(piece), type, *packed.non_finite)});
  }
  launcher_->piece_ready(packed.bucket);
}

std::optional<std::size_t> GradientExchange::pack(const GradientPiece& piece) {
  const ElementType wire = wire_[piece.gradient.value];
  const auto non_finite =
      memory_.pack(piece, buffer_.of(piece),
                   {.wire = wire,
                    .scale = scale_before(wire, op_, communicator_.size()),
                    .past_caches = buffer_.exceeds_caches(),
                    .is_searched = settings_.non_finite != NonFiniteAction::off});
  codec_.add_state(piece, buffer_.of(piece), op_);
  return non_finite;
}

void GradientExchange::unpack(std::size_t number, const GradientSet& ready) {
  const Bucket& bucket = buffer_.plan().buckets[number];
  if (devices_) on_device([&] { devices_->unpack(number, ready); });
  for (const GradientPiece& piece : bucket.pieces) {
    if (memory_.of(piece.gradient).empty() || device_tensors_.has(piece.gradient) ||
        !ready.contains(piece.gradient))
      continue;
    memory_.unpack(piece, buffer_.bytes().subspan(piece.offset, piece.count * size_of(bucket.type)),
                   {.wire = bucket.type, .past_caches = buffer_.exceeds_caches()});
  }
}

GradientCounters GradientExchange::counters() {
  const Lock lock(mutex_);
  return recorder_ ? recorder_->counters() : GradientCounters{};
}

void GradientExchange::all_reduce_gradients(ReduceOp op) {
  use_operation(op);
  for (const GradientId id : initial_order(table_))
    ready(id);
  wait_step();
}

// ---- the end of a step ----

StepOutcome GradientExchange::end_step(Verdicts wishes, std::optional<gpu::StreamHandle> stream) {
  const auto began = Timeline::Clock::now();
  if (devices_) on_device([this] { devices_->drain(); });  // A device's thread takes the lock.
  Lock lock(mutex_);
  begin(lock);
  const Agreement agreement = messages_->negotiate({state(wishes), progress_.report()});
  if (agreement.summary.verdicts.differs) throw caused(difference_in(agreement, table_));
  StepOutcome outcome = outcome_of(agreement, progress_.step(), settings_.non_finite);
  finish(agreement, outcome.is_applied);
  if (devices_) on_device([&] { devices_->finish_step(stream); });
  // The rank that has it: it would be a line of every rank otherwise.
  if (outcome.non_finite && outcome.non_finite->rank == communicator_.rank())
    warn(described(*outcome.non_finite, outcome.step));
  const std::optional<StepFailure> failure =
      failure_of(agreement, outcome, table_, settings_.non_finite,
                 [&](const NonFiniteReport& report) { return described(report, outcome.step); });
  const std::vector<GradientId> order = progress_.take_order();
  next_step();
  // No rank would learn that views have moved.
  if (!failure) change_plan(outcome, order, seconds_of(Timeline::Clock::now() - began));
  is_over_ = outcome.is_somebody_leaving;
  const auto ended = Timeline::Clock::now();
  recorder_->counters().wait_seconds += seconds_of(ended - began);
  if (recorder_->timeline() != nullptr)
    recorder_->timeline()->add({"wait_step", 0, outcome.step, 0, began, ended});
  if (failure) throw caused(*failure);
  return outcome;
}

CausedError GradientExchange::caused(const StepFailure& failure) {
  return communicator_.caused_by(failure.culprit, failure.error);
}

std::string GradientExchange::described(const NonFiniteReport& report, std::uint32_t step) const {
  return describe(report, step, table_, wire_[report.gradient.value], settings_.content);
}

/// `order` is that in which gradients became ready on this rank, and `waited` are the seconds in
/// which it waited for the end of the step.
void GradientExchange::change_plan(StepOutcome& outcome, const std::vector<GradientId>& order,
                                   double waited) {
  const bool has_new_order = order_.learn(*control_, order);
  const bool has_new_setting = tuning_->step_ended(waited);
  outcome.have_views_moved = has_new_order || has_new_setting;
  if (outcome.have_views_moved) move_views();
}

/// Moves views with the results in them.
void GradientExchange::move_views() {
  std::vector<std::byte> before;
  if (memory_.has_views()) before.assign(buffer_.bytes().begin(), buffer_.bytes().end());
  const std::vector<std::size_t> places = buffer_.plan().offset_of;
  lay_out();
  for (std::size_t i = 0; i < table_.size(); ++i) {
    if (!memory_.is_view({i})) continue;
    const auto now = buffer_.of(GradientId{i});
    std::ranges::copy(std::span(before).subspan(places[i], now.size()), now.begin());
  }
}

RankState GradientExchange::state(Verdicts verdicts) const {
  return progress_.state(communicator_.rank(), buffer_.plan_hash(), verdicts);
}

void GradientExchange::warn(const std::string& sentence) {
  if (events_ != nullptr) events_->warned(sentence);
}

void GradientExchange::finish(const Agreement& agreement, bool applies) {
  launcher_->launch_rest(agreement.details.ready_on_any);
  GradientCounters& counters = recorder_->counters();
  if (!applies) ++counters.steps_without_results;
  if (applies) codec_.keep_velocities(agreement.details.ready_on_all);
  for (std::size_t i = 0; i < buffer_.plan().buckets.size(); ++i) {
    if (!launcher_->is_launched(i)) continue;
    const auto began = Timeline::Clock::now();
    launcher_->wait(i);
    const auto came = Timeline::Clock::now();
    StreamCounters& stream = recorder_->counters_of(launcher_->stream_of(i));
    ++counters.buckets;
    ++stream.buckets;
    counters.bucket_bytes += launcher_->wire_bytes(i);
    stream.bytes += launcher_->wire_bytes(i);
    stream.wait_seconds += seconds_of(came - began);
    if (!applies) continue;
    codec_.keep_residuals(i, agreement.details.ready_on_all, op_);
    unpack(i, agreement.details.ready_on_all);
    counters.unpack_seconds += seconds_of(Timeline::Clock::now() - came);
  }
}

void GradientExchange::next_step() {
  recorder_->step_ended();
  progress_.next_step();
  memory_.step_ended();
  codec_.step_ended();
  follow_warmup();
  begin_launching();
  if (watch_) watch_->step_begins();
}

void GradientExchange::notify_late(std::chrono::milliseconds lasted) {
  if (is_over_) return;
  RankState mine = state({});
  mine.late_ms = static_cast<std::uint32_t>(std::min<std::int64_t>(lasted.count(), UINT32_MAX));
  messages_->notify_late(mine);
}

}  // namespace fastgpu::comm
