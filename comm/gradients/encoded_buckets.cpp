#include "comm/gradients/encoded_buckets.hpp"

#include "comm/gradients/device_encoded_sum.hpp"

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
                               std::span<ReductionLevels> levels, const OnDevice& device)
    : is_on_device_(plan.buckets.size()) {
  for (std::size_t stream = 0; stream < streams.size(); ++stream)
    levels_.push_back(code_levels_of(streams[stream], levels[stream]));
  for (std::size_t i = 0; i < plan.buckets.size(); ++i) {
    const Bucket& bucket = plan.buckets[i];
    const CodeLevels& of_bucket = levels_[i % levels_.size()];
    const auto number = static_cast<std::uint32_t>(i);
    DeviceGradients* const gradients = device.gradients;
    // Numbers of a node are added on the host, and are encoded there.
    const bool is_on_device = bucket.is_encoded && gradients != nullptr &&
                              of_bucket.inside == nullptr && gradients->has_all_of(number);
    is_on_device_[i] = is_on_device;
    if (!bucket.is_encoded)
      sums_.push_back(nullptr);
    else if (is_on_device)
      sums_.push_back(std::make_unique<DeviceEncodedSum>(device.codec, form, of_bucket, bucket,
                                                         number, *gradients));
    else
      sums_.push_back(
          std::make_unique<EncodedSum>(form, of_bucket, bucket, numbers_in(bucket, buffer)));
  }
}

EncodedBuckets::EncodedBuckets(const GradientTable& table, const GradientSettings& settings,
                               const FusionPlan& plan, std::span<std::byte> buffer,
                               std::span<Communicator> streams, std::span<Communicator> others,
                               const CodecState& state)
    : is_on_device_(plan.buckets.size()) {
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

void EncodedBuckets::save_residuals(CodecState& state) const {
  for (const auto& sum : sums_)
    if (sum) sum->save_residuals(state);
}

void EncodedBuckets::load_residuals(const CodecState& state) {
  for (const auto& sum : sums_)
    if (sum) sum->load_residuals(state);
}

}  // namespace fastgpu::comm
