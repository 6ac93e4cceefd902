#include "comm/gradients/gradient_exchange.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/gpu/choose.hpp"
#include "comm/gradients/codec_traits.hpp"
#include "comm/gradients/gradient_check.hpp"
#include "comm/gradients/saved_gradients.hpp"
#include "comm/kernels/convert.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

}  // namespace

GradientExchange::GradientExchange(Communicator& communicator, GradientSettings settings,
                                   GradientEvents* events)
    : communicator_(communicator),
      settings_(std::move(settings)),
      events_(events),
      codec_(table_, settings_) {}

GradientExchange::~GradientExchange() = default;

GradientId GradientExchange::add(GradientInfo info, std::span<std::byte> values,
                                 const std::shared_ptr<gpu::Device>& device) {
  const Lock lock(mutex_);
  if (launcher_)
    throw Error(ErrorKind::usage, "gradient '" + printable(info.name) +
                                      "': register it before the first step begins");
  check_gradient(info, values, device.get(), settings_);
  const GradientId id = table_.add(std::move(info));
  values_.push_back(values);
  values_of_step_.emplace_back();
  device_tensors_.add(values, device);
  codec_.gradient_added();
  return id;
}

// ---- before the first step, and when plans change ----

void GradientExchange::begin(const Lock&) {
  if (launcher_) return;
  const bool counts = settings_.wire == WireType::encoded &&
                      (settings_.codec.warmup > 0 || settings_.codec.memory > 0);
  const bool has_one_order = check_same_registration(
      communicator_, {.table = table_,
                      .settings = settings_,
                      .steps = counts ? codec_.steps() : 0,
                      .order = fingerprint_of(order_of_names(table_, loaded_order_))});
  plan_order(has_one_order);
  wire_ = wire_types(table_, settings_);
  choose_device_path();
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
  for (int stream = 0; stream < streams; ++stream)
    streams_.emplace_back(*communicator_.split(0, 0)).name_calls("a bucket of gradients");
  const Exchange exchange = traits_of(settings_, communicator_.size()).exchange;
  if (exchange == Exchange::mixed_precision_reduce || exchange == Exchange::gather)
    std::ranges::transform(streams_, std::back_inserter(reduction_levels_), reduction_levels_of);
  if (exchange == Exchange::factors)
    for (int stream = 0; stream < streams; ++stream)
      factor_streams_.emplace_back(*communicator_.split(0, 0)).name_calls("factors of gradients");
  codec_.begin(exchange);
  begun_ = ready_ = GradientSet(table_.size());
  lay_out();
  if (communicator_.size() == 1) return;
  // Ranks that wait must know this once they have waited for settings_.stall.
  const auto soon = std::max<std::chrono::milliseconds>(settings_.stall * 3 / 4, 1ms);
  watch_.emplace(mutex_, soon, [this](std::chrono::milliseconds lasted) { notify_late(lasted); });
}

/// Plans by the order of a saved state, if one was loaded: that of rank 0 where others differ.
void GradientExchange::plan_order(bool is_shared) {
  auto order = order_of_names(table_, loaded_order_);
  if (!is_shared) order = saved_order_of_rank_0(communicator_, table_, order);
  is_order_known_ = order.has_value();
  planned_order_ = std::move(order).value_or(initial_order(table_));
  loaded_order_.reset();
}

/// The memory of gradients may differ from rank to rank, but not how they are summed.
void GradientExchange::choose_device_path() {
  gpu::DeviceSettings wish = settings_.device;
  const WireTraits wire = traits_of(settings_, communicator_.size());
  if (wish.path == gpu::DevicePath::nccl) check_allowed(wire, Exchange::nccl);
  // Residuals and velocities are added to numbers in the host's buffer.
  if (!allows(wire.kind, Exchange::nccl) || settings_.wire == WireType::encoded)
    wish.path = gpu::DevicePath::staged;
  std::vector<std::shared_ptr<gpu::Device>> devices;
  for (const DeviceTensors& each : device_tensors_.devices())
    devices.push_back(each.device);
  device_sums_ = gpu::choose_path(communicator_, devices, wish).nccl;
}

void GradientExchange::lay_out() {
  const TunerSetting& setting = tuning_->current();
  launcher_.reset();
  codec_.drop_sums();
  devices_.reset();
  plan_ = plan_fusion(table_, planned_order_, wire_, setting.bucket, codec_.encoded(),
                      factor_streams_.empty() ? EncodedPieces::cut : EncodedPieces::whole);
  plan_hash_ = hash(plan_);
  if (!buffer_ || buffer_->bytes().size() < plan_.buffer_bytes) {
    buffer_.reset();
    buffer_ = std::make_unique<FusionBuffer>(communicator_, plan_.buffer_bytes);
  } else {
    buffer_->clear();  // Gaps are summed too.
  }
  const auto ranks_here = static_cast<std::size_t>(communicator_.topology().largest_node());
  exceeds_caches_ = plan_.buffer_bytes * ranks_here > last_cache_bytes();
  if (!device_tensors_.devices().empty()) lay_out_devices();
  if (settings_.is_tuned) communicator_.use_flows(setting.flows);
  for (Communicator& stream : streams_)
    stream.use_plan(setting.plan);
  // On a device all sums are made in one order.
  const auto streams = device_sums_ ? 1 : static_cast<std::size_t>(setting.streams);
  const std::span used = std::span(streams_).first(streams);
  BucketLauncher::Ways ways{.device = devices_ ? devices_->summing() : nullptr};
  if (!codec_.encoded().empty()) {
    make_encoded_sums();
    ways.encoded = codec_.sums();
  } else {
    ways.levels = reduction_levels_;
  }
  launcher_.emplace(plan_, buffer_->bytes(), used, ways, recorder_->timeline());
  begin_launching();
}

/// Makes the sums of encoded buckets for the codec of this step.
void GradientExchange::make_encoded_sums() {
  const auto used = static_cast<std::size_t>(tuning_->current().streams);
  on_device([&] {
    codec_.make_sums({.plan = plan_,
                      .buffer = buffer_->bytes(),
                      .streams = std::span(streams_).first(used),
                      .factor_streams = factor_streams_,
                      .levels = reduction_levels_,
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
        device_tensors_, plan_, buffer_->bytes(),
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
  launcher_->begin_step(op_, step_, codec_.steps());
  if (!devices_) return;
  std::vector<bool> stays;
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i)
    stays.push_back(codec_.has_on_device(i, op_));
  devices_->begin_step([op = op_, ranks = communicator_.size()](
                           ElementType wire) { return scale_before(wire, op, ranks); },
                       stays);
}

std::span<std::byte> GradientExchange::in_buffer(GradientId id) const {
  return buffer_->bytes().subspan(plan_.offset_of[id.value],
                                  table_.elements(id) * size_of(wire_[id.value]));
}

std::span<std::byte> GradientExchange::in_buffer(const GradientPiece& piece) const {
  return buffer_->bytes().subspan(piece.offset, piece.count * size_of(wire_[piece.gradient.value]));
}

std::span<std::byte> GradientExchange::view(GradientId id) {
  const Lock lock(mutex_);
  check_exists(id);
  begin(lock);
  if (device_tensors_.has(id))
    throw Error(ErrorKind::usage,
                "gradient '" + printable(table_[id].name) + "' is on a device: it has no view");
  values_[id.value] = {};
  return in_buffer(id);
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
  if (begun_.count() > 0)
    throw Error(ErrorKind::usage, std::string(what) + " between steps, not within one");
}

std::vector<std::byte> GradientExchange::saved_state() {
  const Lock lock(mutex_);
  check_between_steps("the state of codecs is saved");
  std::optional<std::vector<std::string>> order = loaded_order_;
  if (is_order_known_) order = names_in_order(table_, planned_order_);
  if (settings_.wire != WireType::encoded)
    return order ? encode(SavedGradients{.order = order}) : std::vector<std::byte>{};
  return encode(SavedGradients{.order = order,
                               .codec = codec_.saved(communicator_.rank(), communicator_.size())});
}

std::uint64_t GradientExchange::order() const {
  return is_order_known_ ? fingerprint_of(planned_order_) : fingerprint_of(std::nullopt);
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
  if (which == SavedOrder::always || !is_order_known_) take_order(state.order);
  if (!codec) return;
  codec_.take(std::move(*codec));
  follow_warmup();
  if (launcher_) begin_launching();
}

/// Plans buckets by the order of a saved state. This moves views, with their content.
void GradientExchange::take_order(const std::optional<std::vector<std::string>>& names) {
  if (!launcher_) {
    loaded_order_ = names;
    return;
  }
  auto order = order_of_names(table_, names);
  is_order_known_ = order.has_value();
  if (!order) order = initial_order(table_);
  if (*order == planned_order_) return;
  planned_order_ = std::move(*order);
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
    if (values_[id.value].empty() && !values.empty())
      refuse("is written into its view: it has no other place");
    begin_gradient(lock, id);
    values_of_step_[id.value] = values;
  }
  travel(id, nullptr);
}

/// Notes that this rank has made the gradient ready in this step.
void GradientExchange::begin_gradient(const Lock& lock, GradientId id) {
  check_exists(id);
  begin(lock);
  if (begun_.contains(id))
    throw Error(ErrorKind::usage,
                "gradient '" + printable(table_[id].name) + "' is ready already in this step");
  begun_.add(id);
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
    recorder_->timeline()->add({"ready", 0, step_, id.value, began, ended});
  const Lock lock(mutex_);
  recorder_->counters().ready_seconds += seconds_of(ended - began);
  ready_.add(id);
  order_.push_back(id);
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
    codec_.add_state(packed.piece, in_buffer(packed.piece), op_);
  const Lock lock(mutex_);
  piece_is_packed(packed);
}

void GradientExchange::piece_is_packed(const PackedPiece& packed) {
  if (packed.non_finite) {
    const GradientPiece& piece = packed.piece;
    const ElementType type = wire_[piece.gradient.value];
    keep_first(report_, {communicator_.rank(), piece.gradient, piece.first + *packed.non_finite,
                         non_finite_at(in_buffer(piece), type, *packed.non_finite)});
  }
  launcher_->piece_ready(packed.bucket);
}

std::optional<std::size_t> GradientExchange::pack(const GradientPiece& piece) {
  const auto non_finite = pack_numbers(piece, in_buffer(piece));
  codec_.add_state(piece, in_buffer(piece), op_);
  return non_finite;
}

std::optional<std::size_t> GradientExchange::pack_numbers(const GradientPiece& piece,
                                                          std::span<std::byte> to) {
  const std::size_t id = piece.gradient.value;
  const ElementType wire = wire_[id];
  const std::span<const std::byte> memory = memory_of(piece.gradient);
  const bool is_view = memory.empty();
  const ElementType type = is_view ? wire : table_[piece.gradient].type;
  const std::span<const std::byte> from =
      is_view ? to : memory.subspan(piece.first * size_of(type), piece.count * size_of(type));
  const Conversion conversion{type, wire, scale_before(wire, op_, communicator_.size()),
                              exceeds_caches_};
  if (settings_.non_finite != NonFiniteAction::off) {
    if (is_view && conversion.scale == 1) return first_non_finite(to, wire);
    return convert_checked(to, from, conversion);
  }
  convert(to, from, conversion);
  return std::nullopt;
}

/// Returns the memory of a gradient in this step; empty if it is in the fusion buffer alone.
std::span<std::byte> GradientExchange::memory_of(GradientId id) const noexcept {
  const std::span<std::byte> now = values_of_step_[id.value];
  return now.empty() ? values_[id.value] : now;
}

void GradientExchange::unpack(std::size_t number, const GradientSet& ready) {
  const Bucket& bucket = plan_.buckets[number];
  if (devices_) on_device([&] { devices_->unpack(number, ready); });
  for (const GradientPiece& piece : bucket.pieces) {
    const std::span<std::byte> memory = memory_of(piece.gradient);
    if (memory.empty() || device_tensors_.has(piece.gradient) || !ready.contains(piece.gradient))
      continue;
    const ElementType type = table_[piece.gradient].type;
    const std::size_t size = size_of(type);
    convert(memory.subspan(piece.first * size, piece.count * size),
            buffer_->bytes().subspan(piece.offset, piece.count * size_of(bucket.type)),
            {bucket.type, type, 1, exceeds_caches_});
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
  const Agreement agreement = messages_->negotiate({state(wishes), report_});
  if (agreement.summary.verdicts.differs)
    throw Error(ErrorKind::usage, describe_differences(agreement.ranks, table_));
  finish(agreement);
  if (devices_) on_device([&] { devices_->finish_step(stream); });
  StepOutcome outcome = outcome_of(agreement);
  const std::optional<Error> failure = failure_of(agreement, outcome);
  next_step();
  // No rank would learn that views have moved.
  if (!failure) change_plan(outcome, seconds_of(Timeline::Clock::now() - began));
  order_.clear();
  is_over_ = outcome.is_somebody_leaving;
  const auto ended = Timeline::Clock::now();
  recorder_->counters().wait_seconds += seconds_of(ended - began);
  if (recorder_->timeline() != nullptr)
    recorder_->timeline()->add({"wait_step", 0, outcome.step, 0, began, ended});
  if (failure) throw Error(*failure);
  return outcome;
}

std::optional<Error> GradientExchange::failure_of(const Agreement& agreement,
                                                  const StepOutcome& outcome) const {
  if (agreement.is_torn() && !outcome.is_somebody_leaving)
    return Error(ErrorKind::usage, describe_differences(agreement.ranks, table_));
  if (outcome.non_finite && settings_.non_finite == NonFiniteAction::stop)
    return Error(ErrorKind::remote, describe(*outcome.non_finite, outcome.step, table_));
  return std::nullopt;
}

/// `waited` are the seconds in which this rank waited for the end of the step.
void GradientExchange::change_plan(StepOutcome& outcome, double waited) {
  const bool has_new_order = !is_order_known_;
  is_order_known_ = true;
  if (has_new_order) planned_order_ = order_of_rank_0(*control_, table_, order_);
  const bool has_new_setting = tuning_->step_ended(waited);
  outcome.have_views_moved = has_new_order || has_new_setting;
  if (outcome.have_views_moved) move_views();
}

/// Moves views with the results in them.
void GradientExchange::move_views() {
  const bool has_views = std::ranges::any_of(values_, [](auto values) { return values.empty(); });
  std::vector<std::byte> before;
  if (has_views) before.assign(buffer_->bytes().begin(), buffer_->bytes().end());
  const std::vector<std::size_t> places = plan_.offset_of;
  lay_out();
  for (std::size_t i = 0; i < table_.size(); ++i) {
    if (!values_[i].empty()) continue;
    const auto now = in_buffer(GradientId{i});
    std::ranges::copy(std::span(before).subspan(places[i], now.size()), now.begin());
  }
}

RankState GradientExchange::state(Verdicts verdicts) const {
  return {.rank = communicator_.rank(),
          .step = step_,
          .plan = plan_hash_,
          .verdicts = verdicts,
          .ready = ready_};
}

void GradientExchange::warn(const std::string& sentence) {
  if (events_ != nullptr) events_->warned(sentence);
}

bool GradientExchange::is_applied(const Agreement& agreement) const {
  const bool is_bad =
      agreement.details.report.has_value() && (settings_.non_finite == NonFiniteAction::skip ||
                                               settings_.non_finite == NonFiniteAction::stop);
  return !is_bad && !agreement.is_torn();
}

void GradientExchange::finish(const Agreement& agreement) {
  launcher_->launch_rest(agreement.details.ready_on_any);
  GradientCounters& counters = recorder_->counters();
  const bool applies = is_applied(agreement);
  if (!applies) ++counters.steps_without_results;
  if (applies) codec_.keep_velocities(agreement.details.ready_on_all);
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
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

StepOutcome GradientExchange::outcome_of(const Agreement& agreement) {
  StepOutcome outcome{.step = step_,
                      .is_applied = is_applied(agreement),
                      .skipped = agreement.details.ready_on_any.missing(),
                      .non_finite = agreement.details.report,
                      .is_somebody_leaving = agreement.summary.verdicts.is_leaving};
  if (outcome.non_finite) warn(describe(*outcome.non_finite, step_, table_));
  return outcome;
}

void GradientExchange::next_step() {
  recorder_->step_ended();
  ++step_;
  begun_.clear();
  ready_.clear();
  std::ranges::fill(values_of_step_, std::span<std::byte>());
  report_.reset();
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
