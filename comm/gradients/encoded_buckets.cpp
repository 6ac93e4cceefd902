#include "comm/gradients/encoded_buckets.hpp"

namespace fastgpu::comm {
namespace {

/// Returns the numbers of a bucket, and of the gap behind it. The buffer is aligned for them.
std::span<float> numbers_in(const Bucket& bucket, std::span<std::byte> buffer) {
  const std::span<std::byte> bytes = buffer.subspan(bucket.offset, fusion_aligned(bucket.bytes));
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

}  // namespace

EncodedBuckets::EncodedBuckets(EncodedForm form, const FusionPlan& plan,
                               std::span<std::byte> buffer, std::span<Communicator> streams,
                               std::span<ReductionLevels> levels) {
  for (std::size_t stream = 0; stream < streams.size(); ++stream)
    levels_.push_back(code_levels_of(streams[stream], levels[stream]));
  for (std::size_t i = 0; i < plan.buckets.size(); ++i) {
    const Bucket& bucket = plan.buckets[i];
    sums_.push_back(bucket.is_encoded
                        ? std::make_unique<EncodedSum>(form, levels_[i % levels_.size()], bucket,
                                                       numbers_in(bucket, buffer))
                        : nullptr);
  }
}

EncodedBuckets::EncodedBuckets(const GradientTable& table, const GradientSettings& settings,
                               const FusionPlan& plan, std::span<std::byte> buffer,
                               std::span<Communicator> streams, std::span<Communicator> others,
                               const CodecState& state) {
  const std::vector<LowRankForm> forms = low_rank_forms(table, settings);
  for (std::size_t i = 0; i < plan.buckets.size(); ++i) {
    const Bucket& bucket = plan.buckets[i];
    const std::size_t stream = i % streams.size();
    sums_.push_back(bucket.is_encoded
                        ? std::make_unique<LowRankSum>(
                              table, forms, FactorStreams{&streams[stream], &others[stream]},
                              bucket, numbers_in(bucket, buffer), state)
                        : nullptr);
  }
}

}  // namespace fastgpu::comm
