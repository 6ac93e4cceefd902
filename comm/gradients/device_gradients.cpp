#include "comm/gradients/device_gradients.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "comm/common/start_thread.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kMostZeros = std::size_t{1} << 20;
/// The parts of one bucket that are kept: those of packing and unpacking, each of two kinds of
/// step.
constexpr std::size_t kKnownParts = 4;

std::size_t end_of(const GradientPiece& piece, ElementType wire) {
  return piece.offset + piece.count * size_of(wire);
}

}  // namespace

DeviceGradients::DeviceGradients(const DeviceTensors& tensors, const FusionPlan& plan,
                                 std::span<std::byte> buffer, Settings settings, Reports reports)
    : tensors_(tensors),
      plan_(plan),
      buffer_(buffer),
      types_(settings.types.begin(), settings.types.end()),
      is_searched_(settings.is_searched),
      collectives_(settings.collectives),
      device_(*tensors.device),
      pinned_(device_, buffer),
      zeros_(std::min(buffer.size(), kMostZeros)),
      wire_(device_, buffer.size()),
      stream_(gpu::stream_of(device_)),
      unpacked_(gpu::event_of(device_)),
      known_(plan.buckets.size()),
      buckets_of_(types_.size()),
      reports_(std::move(reports)),
      ready_(types_.size()) {
  for (std::size_t i = 0; i < types_.size(); ++i)
    completed_.push_back(gpu::event_of(device_));
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    parts_.push_back(part_of(plan_.buckets[i], taken(plan_.buckets[i], [this](GradientId id) {
                               return tensors_.has(id);
                             })));
    for (const Group& group : parts_.back()->groups)
      for (const GradientPiece& piece : group.pieces)
        buckets_of_[piece.gradient.value].push_back(static_cast<std::uint32_t>(i));
  }
  for (std::size_t at = 0; at < buffer.size(); at += zeros_.size()) {  // Gaps are summed too.
    const auto part = wire_.span().subspan(at, std::min(zeros_.size(), buffer.size() - at));
    device_.copy(part, std::span(zeros_).first(part.size()), stream_.get());
  }
  device_.record(unpacked_.get(), stream_.get());
  worker_ = start_thread([this](const std::stop_token& stop) { work(stop); });
}

DeviceGradients::~DeviceGradients() {
  worker_.request_stop();
  worker_.join();
  for (const auto& sum : sums_)
    sum->finish();
  gpu::finish_quietly(device_, stream_.get());
}

std::vector<DeviceGradients::Stretch> DeviceGradients::stretches_of(
    const Bucket& bucket, const std::vector<bool>& is_taken) const {
  std::vector<Stretch> stretches;
  bool continues = false;
  for (std::size_t i = 0; i < bucket.pieces.size(); ++i) {
    const GradientPiece& piece = bucket.pieces[i];
    if (is_taken[i] && !continues) stretches.push_back({piece.offset, 0});
    continues = is_taken[i];
    if (is_taken[i]) stretches.back().bytes = end_of(piece, bucket.type) - stretches.back().offset;
  }
  return stretches;
}

std::vector<bool> DeviceGradients::taken(const Bucket& bucket,
                                         const std::function<bool(GradientId)>& is_in) {
  std::vector<bool> is_taken;
  for (const GradientPiece& piece : bucket.pieces)
    is_taken.push_back(is_in(piece.gradient));
  return is_taken;
}

/// Returns the part of the bucket's gradients on the device for which `is_in` is true.
std::shared_ptr<const DeviceGradients::Part> DeviceGradients::known_part(
    std::size_t bucket, const std::function<bool(GradientId)>& is_in) {
  const Bucket& whole = plan_.buckets[bucket];
  const auto is_here = [this](GradientId id) { return tensors_.has(id); };
  auto is_taken = taken(whole, [&](GradientId id) { return is_here(id) && is_in(id); });
  if (is_taken == taken(whole, is_here)) return parts_[bucket];
  auto& known = known_[bucket];
  const auto met = std::ranges::find(known, is_taken, &KnownPart::is_taken);
  if (met != known.end()) return met->part;
  if (known.size() == kKnownParts) {
    gpu::finish_quietly(device_, stream_.get());  // The oldest list may be in use.
    known.pop_front();
  }
  known.push_back({is_taken, part_of(whole, is_taken)});
  return known.back().part;
}

std::shared_ptr<DeviceGradients::Part> DeviceGradients::part_of(
    const Bucket& bucket, const std::vector<bool>& is_taken) const {
  auto part = std::make_shared<Part>();
  part->stretches = stretches_of(bucket, is_taken);
  for (std::size_t i = 0; i < bucket.pieces.size(); ++i) {
    const GradientPiece& piece = bucket.pieces[i];
    if (!is_taken[i]) continue;
    const ElementType type = types_[piece.gradient.value];
    auto group = std::ranges::find(part->groups, type, &Group::type);
    if (group == part->groups.end())
      group = part->groups.insert(group, Group{.type = type, .pieces = {}, .list = nullptr});
    group->pieces.push_back(piece);
  }
  for (Group& group : part->groups) {
    std::vector<gpu::PlacedTensor> placed;
    for (const GradientPiece& piece : group.pieces)
      placed.push_back(
          {{tensors_.of[piece.gradient.value].data() + piece.first * size_of(group.type),
            piece.count},
           (piece.offset - bucket.offset) / size_of(bucket.type)});
    group.list = device_.prepare(placed);
  }
  return part;
}

// ---- into the buffer ----

void DeviceGradients::begin_step(Scale scale, std::vector<bool> stays) {
  const std::lock_guard lock(mutex_);
  scale_ = std::move(scale);
  stays_ = std::move(stays);
  ready_.clear();
  sums_.clear();
  pieces_left_.clear();
  for (const auto& part : parts_) {
    std::size_t pieces = 0;
    for (const Group& group : part->groups)
      pieces += group.pieces.size();
    pieces_left_.push_back(pieces);
  }
}

void DeviceGradients::ready(GradientId id, gpu::StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  if (failure_) throw Error(*failure_);
  const gpu::EventHandle completed = completed_[id.value].get();
  device_.record(completed, stream);
  device_.wait(stream_.get(), completed);
  ready_.add(id);
  for (const std::uint32_t bucket : buckets_of_[id.value])
    if (--pieces_left_[bucket] == 0) pack(bucket, parts_[bucket]);
}

void DeviceGradients::pack(std::uint32_t bucket, const std::shared_ptr<const Part>& part) {
  const Bucket& whole = plan_.buckets[bucket];
  const auto to = wire_.span().subspan(whole.offset, whole.bytes);
  for (const Group& group : part->groups) {
    const Conversion conversion{group.type, whole.type, scale_(whole.type)};
    if (is_searched_)
      device_.pack_checked(to, *group.list, conversion, stream_.get());
    else
      device_.pack(to, *group.list, conversion, stream_.get());
  }
  if (!stays(bucket)) copy_to_buffer(part->stretches);
  queue_.push_back({bucket, part, gpu::event_of(device_)});
  device_.record(queue_.back().arrived.get(), stream_.get());
  changed_.notify_all();
}

void DeviceGradients::copy_to_buffer(std::span<const Stretch> stretches) {
  for (const Stretch& stretch : stretches)
    device_.copy(buffer_.subspan(stretch.offset, stretch.bytes),
                 wire_.span().subspan(stretch.offset, stretch.bytes), stream_.get());
}

void DeviceGradients::copy_from_buffer(std::span<const Stretch> stretches) {
  for (const Stretch& stretch : stretches)
    device_.copy(wire_.span().subspan(stretch.offset, stretch.bytes),
                 buffer_.subspan(stretch.offset, stretch.bytes), stream_.get());
}

void DeviceGradients::wait_for_copies() {
  const gpu::DeviceEvent copied = gpu::event_of(device_);
  device_.record(copied.get(), stream_.get());
  device_.synchronize(copied.get());
}

void DeviceGradients::drain() {
  std::unique_lock lock(mutex_);
  for (std::uint32_t bucket = 0; bucket < parts_.size() && !failure_; ++bucket) {
    if (pieces_left_[bucket] == 0) continue;
    const auto part = known_part(bucket, [this](GradientId id) { return ready_.contains(id); });
    if (!part->groups.empty()) pack(bucket, part);
    pieces_left_[bucket] = 0;
  }
  changed_.wait(lock, [this] { return (queue_.empty() && !is_reporting_) || failure_; });
  if (failure_) throw Error(*failure_);
  // The earlier step's data is read from the buffer until then.
  device_.synchronize(unpacked_.get());
}

void DeviceGradients::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !queue_.empty() && !failure_; })) {
    const Ready ready = std::move(queue_.front());
    queue_.pop_front();
    is_reporting_ = true;
    lock.unlock();
    std::optional<Error> failure;
    try {
      // A sum on the device comes after the packing by itself.
      if (!stays(ready.bucket) || is_searched_) device_.synchronize(ready.arrived.get());
      report(ready);
    } catch (const Error& e) {
      failure = e;
    }
    if (failure) reports_.failed(*failure);
    lock.lock();
    is_reporting_ = false;
    if (failure) failure_ = std::move(failure);
    changed_.notify_all();
  }
}

void DeviceGradients::report(const Ready& ready) {
  for (const Group& group : ready.part->groups) {
    const auto found = is_searched_ ? group.list->found() : std::nullopt;
    for (std::size_t i = 0; i < group.pieces.size(); ++i) {
      PackedPiece packed{ready.bucket, group.pieces[i]};
      if (found && found->tensor == i) packed.non_finite = found->index;
      if (packed.non_finite && stays(ready.bucket)) bring_over(packed);
      reports_.packed(packed);
    }
  }
}

/// Copies the number that is not finite to the buffer, where it is inspected.
void DeviceGradients::bring_over(const PackedPiece& found) {
  const std::size_t size = size_of(plan_.buckets[found.bucket].type);
  copy_to_buffer(std::array{Stretch{found.piece.offset + *found.non_finite * size, size}});
  wait_for_copies();
}

// ---- sums on the device ----

DeviceGradients::Sum DeviceGradients::start_sum(std::uint32_t bucket, Reduction reduction) {
  const Bucket& whole = plan_.buckets[bucket];
  const auto is_packed = [this](GradientId id) { return tensors_.has(id) && ready_.contains(id); };
  std::unique_lock lock(mutex_);
  copy_from_buffer(stretches_of(whole, taken(whole, std::not_fn(is_packed))));
  lock.unlock();  // A first call waits until all ranks are connected; `ready` does not.
  auto request = collectives_->all_reduce(wire_.span().subspan(whole.offset, whole.bytes),
                                          reduction, stream_.get());
  lock.lock();
  sums_.push_back(request);
  return {*this, bucket, std::move(request)};
}

void DeviceGradients::Sum::wait() {
  request_->wait_here();
  DeviceGradients& all = *owner_;
  const Bucket& whole = all.plan_.buckets[bucket_];
  const auto is_of_host = [&all](GradientId id) { return !all.tensors_.has(id); };
  const auto of_host = all.stretches_of(whole, taken(whole, is_of_host));
  if (of_host.empty()) return;
  all.copy_to_buffer(of_host);
  all.wait_for_copies();
}

// ---- sums of codes ----

bool DeviceGradients::has_all_of(std::uint32_t bucket) const {
  return std::ranges::all_of(plan_.buckets[bucket].pieces, [this](const GradientPiece& piece) {
    return tensors_.has(piece.gradient);
  });
}

std::span<std::byte> DeviceGradients::wire_of(std::uint32_t bucket) const {
  const Bucket& whole = plan_.buckets[bucket];
  return wire_.span().subspan(whole.offset, fusion_aligned(whole.bytes));
}

void DeviceGradients::clear_missing(std::uint32_t bucket) {
  const std::lock_guard lock(mutex_);
  const Bucket& whole = plan_.buckets[bucket];
  const auto is_missing = [this](GradientId id) { return !ready_.contains(id); };
  for (const Stretch& stretch : stretches_of(whole, taken(whole, is_missing)))
    device_.clear(wire_.span().subspan(stretch.offset, stretch.bytes), stream_.get());
}

// ---- and back ----

void DeviceGradients::unpack(std::size_t bucket, const GradientSet& ready) {
  const Bucket& whole = plan_.buckets[bucket];
  std::unique_lock lock(mutex_);
  const auto part = known_part(bucket, [&ready](GradientId id) { return ready.contains(id); });
  lock.unlock();
  if (!stays(bucket)) copy_from_buffer(part->stretches);
  for (const Group& group : part->groups)
    device_.unpack(*group.list, wire_.span().subspan(whole.offset, whole.bytes),
                   {whole.type, group.type}, stream_.get());
}

void DeviceGradients::finish_step(std::optional<gpu::StreamHandle> stream) {
  device_.record(unpacked_.get(), stream_.get());
  if (stream)
    device_.wait(*stream, unpacked_.get());
  else
    device_.synchronize(unpacked_.get());
}

}  // namespace fastgpu::comm
