#include "comm/gradients/gradient_entry.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/gpu/choose.hpp"
#include "comm/gradients/codec.hpp"
#include "comm/kernels/convert.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// Of what was looked at because it is not finite.
NonFiniteReport::Value value_at(std::span<const std::byte> data, ElementType type,
                                std::size_t index) {
  const std::size_t size = size_of(type);
  double wide = 0;
  float value = 0;
  const auto element = data.subspan(index * size, size);
  if (type == ElementType::float64) {
    convert(std::as_writable_bytes(std::span(&wide, 1)), element, {type, type});
    return wide != wide ? NonFiniteReport::Value::nan : NonFiniteReport::Value::infinity;
  }
  convert(std::as_writable_bytes(std::span(&value, 1)), element, {type, ElementType::float32});
  return value != value ? NonFiniteReport::Value::nan : NonFiniteReport::Value::infinity;
}

}  // namespace

GradientEntry::GradientEntry(Communicator& communicator, EntrySettings settings,
                             EntryEvents* events)
    : communicator_(communicator), settings_(std::move(settings)), events_(events) {}

GradientEntry::~GradientEntry() = default;

GradientId GradientEntry::add(GradientInfo info, std::span<std::byte> values,
                              const std::shared_ptr<gpu::Device>& device) {
  const Lock lock(mutex_);
  if (launcher_)
    throw Error(ErrorKind::usage, "gradient '" + printable(info.name) +
                                      "': register it before the first step begins");
  const std::size_t bytes = elements_of(info) * size_of(info.type);
  if (!values.empty() && values.size() != bytes)
    throw Error(ErrorKind::usage, "gradient '" + printable(info.name) + "' has " +
                                      std::to_string(bytes) + " bytes, but memory of " +
                                      std::to_string(values.size()));
  if (device) {
    if (values.data() == nullptr && bytes > 0)
      throw Error(ErrorKind::usage, "gradient '" + printable(info.name) +
                                        "' lies on a device, but has no memory there");
    if (!values.empty()) device->check_is_here(values.data());
    if (device_tensors_.device && device_tensors_.device != device)
      throw Error(ErrorKind::usage, "gradient '" + printable(info.name) +
                                        "' lies on another device than those before it");
    device_tensors_.device = device;
  }
  const GradientId id = table_.add(std::move(info));
  values_.push_back(values);
  device_tensors_.of.push_back(device ? values : std::span<std::byte>());
  return id;
}

// ---- before the first step, and when plans change ----

void GradientEntry::begin(const Lock&) {
  if (launcher_) return;
  check_same_registration(communicator_, {table_, settings_});
  wire_ = wire_types(table_, settings_);
  choose_device_path();
  control_ = communicator_.split(0, 0);
  control_->name_calls("the end of a step of gradients");
  recorder_.emplace(*control_, settings_);
  tuning_.emplace(*control_, settings_, table_, events_);
  const int lanes = settings_.is_tuned ? kMostLanes : settings_.lanes;
  for (int lane = 0; lane < lanes; ++lane)
    lanes_.emplace_back(*communicator_.split(0, 0)).name_calls("a bucket of gradients");
  const Codec codec = codec_of(settings_.wire, communicator_.size());
  if (usual_exchange(codec.kind) == Exchange::wide_sum)
    std::ranges::transform(lanes_, std::back_inserter(wide_levels_), wide_levels_of);
  begun_ = ready_ = GradientSet(table_.size());
  planned_order_ = initial_order(table_);
  lay_out();
  if (communicator_.size() == 1) return;
  // Those who wait are to know by the time that they have waited for settings_.stall.
  const auto soon = std::max<std::chrono::milliseconds>(settings_.stall * 3 / 4, 1ms);
  watch_.emplace(mutex_, soon, [this](std::chrono::milliseconds lasted) { say_late(lasted); });
}

/// Where gradients lie may differ from rank to rank, but not how they are summed.
void GradientEntry::choose_device_path() {
  gpu::DeviceSettings wish = settings_.device;
  const Codec codec = codec_of(settings_.wire, communicator_.size());
  if (wish.way == gpu::DeviceWay::nccl) check_allowed(codec, Exchange::nccl);
  if (!allows(codec.kind, Exchange::nccl)) wish.way = gpu::DeviceWay::staged;
  device_sums_ = gpu::choose_path(communicator_, device_tensors_.device, wish).nccl;
}

void GradientEntry::lay_out() {
  const Setting& setting = tuning_->current();
  device_.reset();
  launcher_.reset();
  plan_ = plan_fusion(table_, planned_order_, wire_, setting.bucket);
  plan_hash_ = hash(plan_);
  if (!buffer_ || buffer_->bytes().size() < plan_.buffer_bytes) {
    buffer_.reset();
    buffer_ = std::make_unique<FusionBuffer>(communicator_, plan_.buffer_bytes);
  }
  const auto ranks_here = static_cast<std::size_t>(communicator_.topology().largest_node());
  exceeds_caches_ = plan_.buffer_bytes * ranks_here > last_cache_bytes();
  std::ranges::fill(buffer_->bytes(), std::byte{0});  // Gaps are summed too.
  if (device_tensors_.device) lay_out_device();
  if (settings_.is_tuned) communicator_.use_flows(setting.flows);
  for (Communicator& lane : lanes_)
    lane.use_way(setting.way);
  // On a device all sums are made in one order.
  const auto lanes = device_sums_ ? 1 : static_cast<std::size_t>(setting.lanes);
  launcher_.emplace(plan_, buffer_->bytes(), std::span(lanes_).first(lanes), wide_levels_,
                    recorder_->timeline(), device_.get());
  begin_launching();
}

void GradientEntry::lay_out_device() {
  std::vector<ElementType> types;
  for (std::size_t i = 0; i < table_.size(); ++i)
    types.push_back(table_[{i}].type);
  const bool is_searched = settings_.non_finite != NonFiniteAction::off;
  on_device([&] {
    device_ = std::make_unique<DeviceGradients>(
        device_tensors_, plan_, buffer_->bytes(),
        DeviceGradients::Settings{types, is_searched, device_sums_.get()},
        DeviceGradients::Reports{[this](const PackedPiece& packed) { device_packed(packed); },
                                 [this](const Error& error) { communicator_.give_up(error); }});
  });
}

void GradientEntry::begin_launching() {
  launcher_->begin_step(op_, step_);
  if (!device_) return;
  device_->begin_step([op = op_, ranks = communicator_.size()](ElementType wire) {
    return scale_before(wire, op, ranks);
  });
}

std::span<std::byte> GradientEntry::in_buffer(GradientId id) const {
  return buffer_->bytes().subspan(plan_.offset_of[id.value],
                                  table_.elements(id) * size_of(wire_[id.value]));
}

std::span<std::byte> GradientEntry::view(GradientId id) {
  const Lock lock(mutex_);
  begin(lock);
  check_exists(id);
  if (device_tensors_.has(id))
    throw Error(ErrorKind::usage,
                "gradient '" + printable(table_[id].name) + "' lies on a device: it has no view");
  values_[id.value] = {};
  return in_buffer(id);
}

ElementType GradientEntry::wire_type(GradientId id) const {
  check_exists(id);
  return launcher_ ? wire_[id.value] : wire_types(table_, settings_)[id.value];
}

void GradientEntry::use_operation(ReduceOp op) {
  const Lock lock(mutex_);
  if (op == op_) return;
  if (begun_.count() > 0)
    throw Error(ErrorKind::usage, "the operation is changed between steps, not within one");
  op_ = op;
  if (launcher_) begin_launching();
}

// ---- within a step ----

void GradientEntry::check_exists(GradientId id) const {
  if (id.value >= table_.size())
    throw Error(ErrorKind::usage, "there is no gradient number " + std::to_string(id.value) +
                                      " among " + std::to_string(table_.size()));
}

void GradientEntry::ready(GradientId id, gpu::StreamHandle stream) {
  {
    const Lock lock(mutex_);
    begin(lock);
    check_exists(id);
    if (begun_.contains(id))
      throw Error(ErrorKind::usage,
                  "gradient '" + printable(table_[id].name) + "' is ready already in this step");
    begun_.add(id);
  }
  const auto began = Timeline::Clock::now();
  if (device_tensors_.has(id))
    on_device([&] { device_->ready(id, stream); });
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

void GradientEntry::pack(GradientId id) {
  for (const Launcher::Place& place : launcher_->places_of(id)) {
    const auto found = pack(place.piece);
    const Lock lock(mutex_);
    piece_is_packed({place.bucket, place.piece, found});
  }
}

void GradientEntry::device_packed(const PackedPiece& packed) {
  const Lock lock(mutex_);
  piece_is_packed(packed);
}

void GradientEntry::piece_is_packed(const PackedPiece& packed) {
  if (packed.non_finite) note_non_finite(packed.piece, *packed.non_finite);
  launcher_->piece_ready(packed.bucket);
}

void GradientEntry::note_non_finite(const GradientPiece& piece, std::size_t index) {
  const NonFiniteReport report{
      communicator_.rank(), piece.gradient, piece.first + index,
      value_at(buffer_->bytes().subspan(piece.offset), wire_[piece.gradient.value], index)};
  const auto place = [](const NonFiniteReport& each) {
    return std::pair(each.gradient, each.index);
  };
  if (!report_ || place(report) < place(*report_)) report_ = report;
}

std::optional<std::size_t> GradientEntry::pack(const GradientPiece& piece) {
  const std::size_t id = piece.gradient.value;
  const ElementType wire = wire_[id];
  const bool is_view = values_[id].empty();
  const ElementType type = is_view ? wire : table_[piece.gradient].type;
  const auto to = buffer_->bytes().subspan(piece.offset, piece.count * size_of(wire));
  const std::span<const std::byte> from =
      is_view ? to : values_[id].subspan(piece.first * size_of(type), piece.count * size_of(type));
  const Conversion conversion{type, wire, scale_before(wire, op_, communicator_.size()),
                              exceeds_caches_};
  if (settings_.non_finite != NonFiniteAction::off) {
    if (is_view && conversion.scale == 1) return first_non_finite(to, wire);
    return convert_checked(to, from, conversion);
  }
  convert(to, from, conversion);
  return std::nullopt;
}

void GradientEntry::unpack(std::size_t number, const GradientSet& ready) {
  const Bucket& bucket = plan_.buckets[number];
  if (device_) on_device([&] { device_->unpack(number, ready); });
  for (const GradientPiece& piece : bucket.pieces) {
    const std::size_t id = piece.gradient.value;
    if (values_[id].empty() || device_tensors_.has(piece.gradient) ||
        !ready.contains(piece.gradient))
      continue;
    const ElementType type = table_[piece.gradient].type;
    const std::size_t size = size_of(type);
    convert(values_[id].subspan(piece.first * size, piece.count * size),
            buffer_->bytes().subspan(piece.offset, piece.count * size_of(bucket.type)),
            {bucket.type, type, 1, exceeds_caches_});
  }
}

EntryCounters GradientEntry::counters() {
  const Lock lock(mutex_);
  return recorder_ ? recorder_->counters() : EntryCounters{};
}

void GradientEntry::all_reduce_gradients(ReduceOp op) {
  use_operation(op);
  for (const GradientId id : initial_order(table_))
    ready(id);
  wait_step();
}

}  // namespace fastgpu::comm
