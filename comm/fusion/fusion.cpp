#include "comm/fusion/fusion.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <numeric>
#include <utility>

#include "comm/fusion/fingerprint.hpp"

namespace fastgpu::comm {
namespace {

/// A bucket and the place of the last of its gradients in the order.
struct Placed {
  Bucket bucket;
  std::size_t last = 0;
};

/// The gradients that may share a bucket.
struct Form {
  ElementType type = ElementType::float32;
  bool is_encoded = false;
  bool is_cut = true;  ///< One that is larger than a bucket is cut.
};

/// A filler of buckets of one form, one after the other.
class Filler {
 public:
  Filler(Form form, std::size_t granularity, std::size_t begin)
      : form_(form), granularity_(granularity), end_(begin) {}

  /// Adds a gradient. One that fits into a bucket is not cut; a larger one begins in the rest of
  /// this bucket, or has one of its own.
  void add(GradientId gradient, std::size_t count, std::size_t place) {
    const std::size_t element = size_of(form_.type);
    end_ = fusion_aligned(end_);
    const bool is_kept_whole = !form_.is_cut || count * element <= granularity_;
    if (count * element > room() && is_kept_whole) close();
    for (std::size_t first = 0; first < count;) {
      if (room() == 0) close();
      if (buckets_.empty() || is_closed_) open();
      const std::size_t taken = is_kept_whole ? count : std::min(count - first, room() / element);
      Placed& open = buckets_.back();
      open.bucket.pieces.push_back({gradient, first, taken, end_});
      end_ += taken * element;
      open.bucket.bytes = end_ - open.bucket.offset;
      open.last = place;
      first += taken;
    }
  }

  std::size_t end() const noexcept { return fusion_aligned(end_); }
  std::vector<Placed> take() && { return std::move(buckets_); }

 private:
  std::size_t room() const {
    if (buckets_.empty() || is_closed_) return granularity_;
    const std::size_t used = end_ - buckets_.back().bucket.offset;
    return used < granularity_ ? granularity_ - used : 0;
  }

  void close() noexcept { is_closed_ = true; }

  void open() {
    buckets_.push_back(
        {{.type = form_.type, .offset = end_, .is_encoded = form_.is_encoded, .pieces = {}}});
    is_closed_ = false;
  }

  Form form_;
  std::size_t granularity_;
  std::size_t end_;
  bool is_closed_ = false;
  std::vector<Placed> buckets_;
};

void note_offsets(FusionPlan& plan) {
  for (const Bucket& bucket : plan.buckets)
    for (const GradientPiece& piece : bucket.pieces)
      if (piece.first == 0) plan.offset_of[piece.gradient.value] = piece.offset;
}

void note_priorities(FusionPlan& plan, const GradientTable& table) {
  for (Bucket& bucket : plan.buckets) {
    bucket.priority = table[bucket.pieces.front().gradient].priority;
    for (const GradientPiece& piece : bucket.pieces)
      bucket.priority = std::max(bucket.priority, table[piece.gradient].priority);
  }
}

}  // namespace

FusionPlan plan_fusion(const GradientTable& table, std::span<const GradientId> order,
                       std::span<const ElementType> wire, Bytes granularity,
                       const std::vector<bool>& encoded, EncodedPieces pieces) {
  assert(order.size() == table.size() && wire.size() == table.size());
  const std::size_t most = std::max<std::size_t>(
      granularity.count / kFusionAlignment * kFusionAlignment, kFusionAlignment);
  FusionPlan plan;
  plan.offset_of.resize(table.size());
  std::vector<Placed> placed;
  for (std::size_t form = 0; form < 2 * kElementTypes; ++form) {
    const auto type = ElementType(form / 2);
    const bool is_encoded = form % 2 == 1;
    const bool is_cut = !is_encoded || pieces == EncodedPieces::cut;
    Filler filler({type, is_encoded, is_cut}, most, plan.buffer_bytes);
    for (std::size_t place = 0; place < order.size(); ++place) {
      const std::size_t id = order[place].value;
      if (wire[id] == type && (!encoded.empty() && encoded[id]) == is_encoded)
        filler.add(order[place], table.elements(order[place]), place);
    }
    plan.buffer_bytes = filler.end();
    std::ranges::move(std::move(filler).take(), std::back_inserter(placed));
  }
  std::ranges::stable_sort(placed, {}, &Placed::last);
  for (Placed& each : placed)
    plan.buckets.push_back(std::move(each.bucket));
  note_offsets(plan);
  note_priorities(plan, table);
  return plan;
}

std::uint64_t hash(const FusionPlan& plan) {
  Fingerprint hash;
  for (const Bucket& bucket : plan.buckets) {
    hash.add(static_cast<std::uint8_t>(bucket.type));
    hash.add(static_cast<std::uint8_t>(bucket.is_encoded));
    hash.add(std::uint64_t{bucket.offset}).add(std::uint64_t{bucket.bytes});
    for (const GradientPiece& piece : bucket.pieces)
      hash.add(std::uint64_t{piece.gradient.value})
          .add(std::uint64_t{piece.first})
          .add(std::uint64_t{piece.count})
          .add(std::uint64_t{piece.offset});
  }
  return hash.value();
}

std::vector<GradientId> initial_order(const GradientTable& table) {
  std::vector<GradientId> order(table.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = {order.size() - 1 - i};
  return order;
}

}  // namespace fastgpu::comm
