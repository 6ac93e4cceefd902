#include "training.hpp"

#include <algorithm>
#include <numeric>

namespace digits {
namespace {

using Clock = std::chrono::steady_clock;

constexpr float kLearningRate = 0.05F;
constexpr float kMomentum = 0.9F;
const std::vector<std::size_t> kWidths{kPixels, 128, 64, kClasses};

/// Falls in a straight line to almost nothing, so that the end of a run is calm.
float learning_rate(std::size_t epoch, std::size_t epochs) {
  return kLearningRate * (1 - static_cast<float>(epoch) / static_cast<float>(epochs));
}

/// Rank 0's initial parameters for all, and the gradients registered once.
void prepare(Job& job, Mlp& model) {
  for (Parameter& parameter : model.parameters()) {
    job.broadcast(parameter.values, 0);
    job.register_gradient(parameter.name, parameter.gradient);
  }
}

class Trainer {
 public:
  Trainer(Job& job, const Options& options, const Split& data)
      : job_(job),
        options_(options),
        data_(data),
        model_(kWidths, Random(options.seed)),
        order_(data.training.size()) {
    prepare(job, model_);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }

  Epoch run_epoch(std::size_t number) {
    const auto start = Clock::now();
    Random(options_.seed + 1'000'003 * number).shuffle(order_);
    double loss = 0;
    for (std::size_t at = 0; at < order_.size(); at += options_.global_batch)
      loss += step({at, std::min(at + options_.global_batch, order_.size())},
                   learning_rate(number - 1, options_.epochs));
    std::vector<double> sums{loss, right_answers()};
    job_.add_up(sums);
    return {number, sums[0] / static_cast<double>(data_.training.size()),
            sums[1] / static_cast<double>(data_.test.size()), Clock::now() - start};
  }

  std::uint64_t hash() const { return model_.hash(); }

 private:
  /// Weighting each sample by the size of the whole batch makes the ranks' gradients add up to its
  /// mean, however unevenly it is shared out. Returns the loss of this rank's share.
  double step(Range batch, float rate) {
    const float weight = 1.0F / static_cast<float>(batch.end - batch.begin);
    const Range mine = share_of(batch, job_.rank(), job_.size());
    double loss = 0;
    model_.clear_gradients();
    for (std::size_t i = mine.begin; i < mine.end; ++i)
      loss += model_.accumulate(data_.training[order_[i]], weight).loss;
    job_.add_up_gradients();
    model_.step(rate, kMomentum);
    return loss;
  }

  /// Among this rank's share of the test set.
  double right_answers() {
    const Range mine = share_of({0, data_.test.size()}, job_.rank(), job_.size());
    double right = 0;
    for (std::size_t i = mine.begin; i < mine.end; ++i)
      right += model_.evaluate(data_.test[i]).is_right ? 1 : 0;
    return right;
  }

  Job& job_;
  const Options& options_;
  const Split& data_;
  Mlp model_;
  std::vector<std::size_t> order_;
};

}  // namespace

Range share_of(Range whole, int rank, int ranks) {
  const std::size_t length = whole.end - whole.begin;
  const auto edge = [&](int r) {
    return whole.begin + length * static_cast<std::size_t>(r) / static_cast<std::size_t>(ranks);
  };
  return {edge(rank), edge(rank + 1)};
}

Result train(Job& job, const Options& options, const Split& data,
             const std::function<void(const Epoch&)>& finished) {
  const auto start = Clock::now();
  Trainer trainer(job, options, data);
  Result result;
  for (std::size_t number = 1; number <= options.epochs; ++number) {
    result.last = trainer.run_epoch(number);
    finished(result.last);
  }
  result.hashes = job.gather(trainer.hash());
  result.time = Clock::now() - start;
  return result;
}

}  // namespace digits
