#include "comm/gossip/mixer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace fastgpu::comm {
namespace {

void copy_numbers(std::span<std::byte> to, std::span<const float> from) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size_bytes());
}

/// sum += weight * (theirs - mine). Two members with the same weight add numbers that differ in the
/// sign alone, so that the sum of both stays.
void add_difference(std::span<float> sum, const float* theirs, const float* mine, float weight) {
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum[i] += weight * (theirs[i] - mine[i]);
}

void add_scaled(std::span<float> sum, std::span<const float> numbers, float factor) {
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum[i] += factor * numbers[i];
}

/// Returns the numbers of a message, which is aligned for them.
const float* numbers_in(std::span<const std::byte> message) {
  return reinterpret_cast<const float*>(message.data());
}

/// Neighbour averaging: values += sum of weight * (theirs - mine).
class NeighbourAveraging final : public Mixer {
 public:
  explicit NeighbourAveraging(std::size_t count) : count_(count) {}

  std::size_t message_bytes(const Codec*) const noexcept override { return count_ * sizeof(float); }
  void write(std::span<std::byte> message, std::span<const float> values, const MixStep&) override {
    copy_numbers(message, values);
  }
  void mix(std::span<float> values, std::span<const std::byte> own,
           std::span<const MixIncoming> incoming, const MixStep& step) override {
    const float* const mine = numbers_in(own);
    const std::span<float> change = step.scratch.first(values.size());
    std::ranges::fill(change, 0.0F);
    for (const MixIncoming& each : incoming)
      add_difference(change, numbers_in(each.message), mine, static_cast<float>(each.weight));
    add_scaled(values, change, 1);
  }
  void agree(std::span<const float>) override {}

 private:
  std::size_t count_;
};

/// Difference compression. Each member keeps an estimate of itself, which its neighbours keep too:
/// all add the same codes to it. values += step size * sum of weight * (their estimate - own).
class Difference final : public Mixer {
 public:
  Difference(std::size_t count, std::size_t neighbours)
      : mine_(count), theirs_(neighbours, std::vector<float>(count)) {}

  std::size_t message_bytes(const Codec* codec) const noexcept override {
    return codec == nullptr ? mine_.size() * sizeof(float) : codec->encoded_bytes(mine_.size());
  }

  void write(std::span<std::byte> message, std::span<const float> values,
             const MixStep& step) override {
    if (step.codec == nullptr) {
      copy_numbers(message, values);
      std::ranges::copy(values, mine_.begin());
      return;
    }
    const std::span<float> change = step.scratch.first(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      change[i] = values[i] - mine_[i];
    step.codec->encode(message, change, step.seed);
    step.codec->add(mine_, message, 1);
  }

  void mix(std::span<float> values, std::span<const std::byte>,
           std::span<const MixIncoming> incoming, const MixStep& step) override {
    for (std::size_t k = 0; k < incoming.size(); ++k)
      update(k, incoming[k].message, step.codec);
    const std::span<float> change = step.scratch.first(values.size());
    std::ranges::fill(change, 0.0F);
    for (std::size_t k = 0; k < incoming.size(); ++k)
      add_difference(change, theirs_[k].data(), mine_.data(),
                     static_cast<float>(incoming[k].weight));
    add_scaled(values, change, static_cast<float>(step.step_size));
  }

  void agree(std::span<const float> values) override {
    std::ranges::copy(values, mine_.begin());
    for (auto& estimate : theirs_)
      std::ranges::copy(values, estimate.begin());
  }

  std::vector<std::span<float>> memory() override {
    std::vector<std::span<float>> all{mine_};
    all.insert(all.end(), theirs_.begin(), theirs_.end());
    return all;
  }

 private:
  void update(std::size_t k, std::span<const std::byte> message, const Codec* codec) {
    if (codec == nullptr) {
      if (!message.empty()) std::memcpy(theirs_[k].data(), message.data(), message.size());
      return;
    }
    try {
      codec->add(theirs_[k], message, 1);
    } catch (const Error& e) {
      throw MixFailure{k, e};
    }
  }

  std::vector<float> mine_;
  std::vector<std::vector<float>> theirs_;  ///< The estimates of the neighbours, in their order.
};

/// Push-sum: sums and weights travel, and their quotient is what training sees. What training has
/// added since is added to the sum, so that the sum over all members stays.
class PushSum final : public Mixer {
 public:
  explicit PushSum(std::size_t count) : sum_(count), shown_(count) {}

  std::size_t message_bytes(const Codec*) const noexcept override {
    return sizeof(double) + sum_.size() * sizeof(float);
  }

  void write(std::span<std::byte> message, std::span<const float> values, const MixStep&) override {
    for (std::size_t i = 0; i < values.size(); ++i)
      sum_[i] += values[i] - shown_[i];
    std::memcpy(message.data(), &weight_, sizeof(weight_));
    copy_numbers(message.subspan(sizeof(weight_)), sum_);
  }

  void mix(std::span<float> values, std::span<const std::byte>,
           std::span<const MixIncoming> incoming, const MixStep& step) override {
    const auto own = static_cast<float>(step.own);
    for (float& number : sum_)
      number *= own;
    double weight = step.own * weight_;
    for (std::size_t k = 0; k < incoming.size(); ++k) {
      double theirs = 0;
      std::memcpy(&theirs, incoming[k].message.data(), sizeof(theirs));
      if (!(theirs > 0 && theirs <= kMostWeight))
        throw MixFailure{k, Error(ErrorKind::remote, "a weight that is not possible")};
      weight += incoming[k].weight * theirs;
      const float* const numbers = numbers_in(incoming[k].message.subspan(sizeof(theirs)));
      add_scaled(sum_, {numbers, values.size()}, static_cast<float>(incoming[k].weight));
    }
    weight_ = weight;
    const auto factor = static_cast<float>(1 / weight_);
    for (std::size_t i = 0; i < values.size(); ++i)
      shown_[i] = values[i] = sum_[i] * factor;
  }

  void agree(std::span<const float> values) override {
    std::ranges::copy(values, sum_.begin());
    std::ranges::copy(values, shown_.begin());
    weight_ = 1;
  }

  std::vector<std::span<float>> memory() override { return {sum_, shown_}; }
  double* weight() override { return &weight_; }

 private:
  static constexpr double kMostWeight = 1e6;  ///< No job has as many members.

  std::vector<float> sum_;
  std::vector<float> shown_;  ///< The numbers that training got last.
  double weight_ = 1;
};

}  // namespace

std::unique_ptr<Mixer> make_mixer(MixMethod method, std::size_t count, std::size_t neighbours) {
  switch (method) {
    case MixMethod::exact:
    case MixMethod::averaging:
      return std::make_unique<NeighbourAveraging>(count);
    case MixMethod::difference:
      return std::make_unique<Difference>(count, neighbours);
    case MixMethod::push_sum:
      return std::make_unique<PushSum>(count);
  }
  throw Error(ErrorKind::internal, "an unknown method of mixing");
}

}  // namespace fastgpu::comm
