#include "comm/entry/launcher.hpp"

#include <algorithm>

namespace fastgpu::comm {
namespace {

bool is_scaled_before(ElementType type, ReduceOp op) noexcept {
  const bool is_short = type == ElementType::float16 || type == ElementType::bfloat16;
  return is_short && op == ReduceOp::average;
}

}  // namespace

Launcher::Launcher(const FusionPlan& plan, std::span<std::byte> buffer,
                   std::span<Communicator> lanes)
    : plan_(plan), buffer_(buffer), lanes_(lanes), buckets_of_(plan.pieces_of.size()) {
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i)
    for (const GradientPiece& piece : plan_.buckets[i].pieces)
      buckets_of_[piece.gradient.value].push_back(static_cast<std::uint32_t>(i));
  begin_step(op_);
}

void Launcher::begin_step(ReduceOp op) {
  op_ = op;
  ready_ = GradientSet(buckets_of_.size());
  pieces_left_.clear();
  for (const Bucket& bucket : plan_.buckets)
    pieces_left_.push_back(static_cast<std::uint32_t>(bucket.pieces.size()));
  next_.resize(lanes_.size());
  for (std::size_t lane = 0; lane < next_.size(); ++lane)
    next_[lane] = lane;
  handles_.clear();
  handles_.resize(plan_.buckets.size());
}

void Launcher::ready(GradientId id) {
  ready_.add(id);
  for (const std::uint32_t bucket : buckets_of_[id.value])
    if (--pieces_left_[bucket] == 0) launch_complete(bucket % lanes_.size());
}

void Launcher::launch_complete(std::size_t lane) {
  std::size_t& next = next_[lane];
  for (; next < plan_.buckets.size() && pieces_left_[next] == 0; next += lanes_.size())
    launch(next);
}

void Launcher::launch_rest(const GradientSet& on_any) {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    std::size_t& next = next_[lane];
    for (; next < plan_.buckets.size(); next += lanes_.size()) {
      const Bucket& bucket = plan_.buckets[next];
      if (!is_wanted(bucket, on_any)) continue;
      for (const GradientPiece& piece : bucket.pieces)
        if (!ready_.contains(piece.gradient))
          std::ranges::fill(buffer_.subspan(piece.offset, piece.count * size_of(bucket.type)),
                            std::byte{0});
      launch(next);
    }
  }
}

bool Launcher::is_wanted(const Bucket& bucket, const GradientSet& on_any) const {
  return std::ranges::any_of(
      bucket.pieces, [&](const GradientPiece& piece) { return on_any.contains(piece.gradient); });
}

void Launcher::launch(std::size_t bucket) {
  const Bucket& it = plan_.buckets[bucket];
  const ReduceOp op = is_scaled_before(it.type, op_) ? ReduceOp::sum : op_;
  handles_[bucket].emplace(lanes_[bucket % lanes_.size()].start_all_reduce(
      buffer_.subspan(it.offset, it.bytes), {it.type, op}));
}

void Launcher::wait(std::size_t bucket) {
  if (handles_[bucket]) handles_[bucket]->wait();
}

double scale_before(ElementType type, ReduceOp op, int ranks) noexcept {
  return is_scaled_before(type, op) ? 1.0 / ranks : 1.0;
}

}  // namespace fastgpu::comm
