#include "comm/gradients/bucket_launcher.hpp"

#include <algorithm>

namespace fastgpu::comm {
namespace {

bool is_short(ElementType type) noexcept {
  return type == ElementType::float16 || type == ElementType::bfloat16;
}

bool is_scaled_before(ElementType type, ReduceOp op) noexcept {
  return is_short(type) && op == ReduceOp::average;
}

template <class Sum>
void wait_for_sum(Sum& sum) {
  sum.wait();
}
void wait_for_sum(CodeSum*& sum) {
  sum->wait();
}

}  // namespace

BucketLauncher::BucketLauncher(const FusionPlan& plan, std::span<std::byte> buffer,
                               std::span<Communicator> streams, Ways ways, Timeline* timeline)
    : plan_(plan),
      buffer_(buffer),
      streams_(streams),
      ways_(ways),
      timeline_(timeline),
      places_of_(plan.offset_of.size()) {
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i)
    for (const GradientPiece& piece : plan_.buckets[i].pieces)
      places_of_[piece.gradient.value].push_back({static_cast<std::uint32_t>(i), piece});
}

void BucketLauncher::begin_step(ReduceOp op, std::uint32_t step, std::uint64_t chance) {
  op_ = op;
  step_ = step;
  chance_ = chance;
  ready_ = GradientSet(places_of_.size());
  pieces_left_.clear();
  for (const Bucket& bucket : plan_.buckets)
    pieces_left_.push_back(static_cast<std::uint32_t>(bucket.pieces.size()));
  next_.resize(streams_.size());
  for (std::size_t stream = 0; stream < next_.size(); ++stream)
    next_[stream] = stream;
  next_codes_ = next_;
  next_sum_ = 0;
  runs_.clear();
  runs_.resize(plan_.buckets.size());
}

void BucketLauncher::piece_ready(std::uint32_t bucket) {
  if (--pieces_left_[bucket] == 0) launch_complete(stream_of(bucket));
}

void BucketLauncher::launch_complete(std::size_t stream) {
  std::size_t& next = next_[stream];
  for (; next < plan_.buckets.size() && pieces_left_[next] == 0; next += streams_.size())
    launch(next);
  send_codes(stream);
}

/// Sends codes as soon as their numbers are complete, while others are still being computed.
void BucketLauncher::send_codes(std::size_t stream) {
  std::size_t& next = next_codes_[stream];
  for (; next < next_[stream]; next += streams_.size()) {
    auto* const sum = std::get_if<CodeSum*>(&runs_[next]->work);
    if (sum != nullptr && !(*sum)->reduce_in_node_if_complete()) return;
  }
}

template <class Action>
void BucketLauncher::for_sums_with_phases(Action action) {
  for (std::optional<Run>& run : runs_) {
    if (!run) continue;
    if (auto* const mixed = std::get_if<MixedPrecisionReduce>(&run->work)) action(*mixed);
    if (auto* const encoded = std::get_if<CodeSum*>(&run->work)) action(**encoded);
  }
}

void BucketLauncher::launch_rest(const GradientSet& on_any) {
  for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
    std::size_t& next = next_[stream];
    for (; next < plan_.buckets.size(); next += streams_.size()) {
      const Bucket& bucket = plan_.buckets[next];
      if (!is_wanted(bucket, on_any)) continue;
      for (const GradientPiece& piece : bucket.pieces)
        if (!ready_.contains(piece.gradient))
          std::ranges::fill(buffer_.subspan(piece.offset, piece.count * size_of(bucket.type)),
                            std::byte{0});
      launch(next);
    }
  }
  // Each phase of all buckets before the next phase of any.
  for_sums_with_phases([](auto& sum) { sum.reduce_in_node(); });
  for_sums_with_phases([](auto& sum) { sum.reduce_across_nodes(); });
  for (std::optional<Run>& run : runs_)
    if (auto* const mixed = run ? std::get_if<MixedPrecisionReduce>(&run->work) : nullptr)
      mixed->broadcast_in_node();
}

/// Takes the last codes of the buckets before `end`, while those of later ones are on their way.
void BucketLauncher::take_codes(std::size_t end) {
  for (; next_sum_ < std::min(end, runs_.size()); ++next_sum_) {
    std::optional<Run>& run = runs_[next_sum_];
    auto* const sum = run ? std::get_if<CodeSum*>(&run->work) : nullptr;
    if (sum != nullptr) (*sum)->broadcast_in_node();
  }
}

bool BucketLauncher::is_wanted(const Bucket& bucket, const GradientSet& on_any) const {
  return std::ranges::any_of(
      bucket.pieces, [&](const GradientPiece& piece) { return on_any.contains(piece.gradient); });
}

void BucketLauncher::launch(std::size_t bucket) {
  const auto began = timeline_ != nullptr ? Timeline::Clock::now() : Timeline::Clock::time_point();
  runs_[bucket].emplace(Run{start(bucket), began});
}

BucketLauncher::Sum BucketLauncher::start(std::size_t number) const {
  const Bucket& bucket = plan_.buckets[number];
  const std::span<std::byte> data = buffer_.subspan(bucket.offset, bucket.bytes);
  const ReduceOp op = is_scaled_before(bucket.type, op_) ? ReduceOp::sum : op_;
  if (ways_.encoded != nullptr && ways_.encoded->has(number, op)) {
    CodeSum& sum = (*ways_.encoded)[number];
    sum.begin(op, chance_);
    return &sum;
  }
  if (ways_.device != nullptr && ways_.device->has_sums())
    return ways_.device->start_sum(static_cast<std::uint32_t>(number), {bucket.type, op});
  const bool is_wide = !ways_.levels.empty() && is_short(bucket.type) && op == ReduceOp::sum;
  if (is_wide) return MixedPrecisionReduce(ways_.levels[stream_of(number)], data, bucket.type);
  return streams_[stream_of(number)].start_all_reduce(data, {bucket.type, op}, bucket.priority);
}

void BucketLauncher::wait(std::size_t bucket) {
  take_codes(bucket + 2);  // The next bucket's sums go to the ranks of a node meanwhile.
  Run& run = *runs_[bucket];
  std::visit([](auto& work) { wait_for_sum(work); }, run.work);
  if (timeline_ == nullptr) return;
  const auto stream = static_cast<std::uint32_t>(stream_of(bucket));
  timeline_->add({"all-reduce", 1 + stream, step_, bucket, run.began, Timeline::Clock::now(),
                  wire_bytes(bucket)});
}

std::size_t BucketLauncher::wire_bytes(std::size_t bucket) const {
  const auto* const encoded = std::get_if<CodeSum*>(&runs_[bucket]->work);
  return encoded != nullptr ? (*encoded)->encoded_bytes() : plan_.buckets[bucket].bytes;
}

double scale_before(ElementType type, ReduceOp op, int ranks) noexcept {
  return is_scaled_before(type, op) ? 1.0 / ranks : 1.0;
}

}  // namespace fastgpu::comm
