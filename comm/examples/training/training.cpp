#include "training.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "mlp.hpp"

namespace training {
namespace {

using Clock = std::chrono::steady_clock;

constexpr float kMomentum = 0.9F;
constexpr std::size_t kEvaluatedAtOnce = 256;

/// Returns a rate that falls in a straight line, so that the end of a run is calm.
float learning_rate(const TrainingRecipe& recipe, std::size_t epoch, std::size_t epochs) {
  return recipe.learning_rate * (1 - static_cast<float>(epoch) / static_cast<float>(epochs));
}

std::vector<std::size_t> widths_of(const TrainingRecipe& recipe, const Dataset& data) {
  std::vector<std::size_t> widths{data.width};
  widths.insert(widths.end(), recipe.hidden.begin(), recipe.hidden.end());
  widths.push_back(kClasses);
  return widths;
}

std::vector<std::size_t> numbers(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

/// Describes a gradient by its shape, of which codecs of matrices (powersgd) make use.
fgc_gradient gradient_of(Parameter& parameter) {
  fgc_gradient gradient{};
  gradient.name = parameter.name.c_str();
  gradient.data = parameter.gradient.data();
  gradient.shape = parameter.shape.data();
  gradient.dimensions = parameter.shape.size();
  gradient.type = FGC_FLOAT32;
  return gradient;
}

class Trainer {
 public:
  Trainer(fgc::Communicator& comm, const TrainingRecipe& recipe, const TrainingOptions& options,
          const Split& data)
      : comm_(comm),
        recipe_(recipe),
        options_(options),
        data_(data),
        model_(widths_of(recipe, data.training), Random(options.seed)),
        gradients_(comm),
        order_(numbers(data.training.size())),
        test_order_(numbers(data.test.size())) {
    for (Parameter& parameter : model_.parameters()) {  // Rank 0's initial values for all.
      comm_.broadcast(parameter.values, 0);
      gradients_.add(gradient_of(parameter));
    }
    gradients_.use_op(FGC_SUM);
  }

  Epoch run_epoch(std::size_t number) {
    Random(options_.seed + 1'000'003 * number).shuffle(order_);
    double loss = 0;
    for (std::size_t at = 0; at < order_.size(); at += options_.global_batch)
      loss += step({at, std::min(at + options_.global_batch, order_.size())},
                   learning_rate(recipe_, number - 1, options_.epochs));
    std::array<double, 2> sums{loss, right_answers()};
    comm_.all_reduce(sums);
    return {.number = number,
            .loss = sums[0] / static_cast<double>(data_.training.size()),
            .accuracy = sums[1] / static_cast<double>(data_.test.size()),
            .since_start = Clock::now() - began_,
            .bytes = gradients_.counters().bucket_bytes};
  }

  std::uint64_t hash() const { return model_.hash(); }
  fgc_type wire() const { return gradients_.wire_type(0); }

 private:
  std::span<const std::size_t> mine(const std::vector<std::size_t>& all, Range range) const {
    const Range share = share_of(range, comm_.rank(), comm_.size());
    return std::span(all).subspan(share.begin, share.end - share.begin);
  }

  /// Makes a step. Weighting each sample by the size of the whole batch makes the ranks' gradients
  /// add up to its mean, however unevenly it is shared out. Returns the loss of this rank's share.
  double step(Range batch, float rate) {
    const float weight = 1.0F / static_cast<float>(batch.end - batch.begin);
    const Evaluation outcome =
        model_.differentiate(data_.training, mine(order_, batch), weight,
                             [this](std::size_t parameter) { gradients_.ready(parameter); });
    if (gradients_.wait().is_applied != 0) model_.step(rate, kMomentum);  // Else on no rank.
    return outcome.loss;
  }

  /// Returns the right answers among this rank's share of the test set.
  double right_answers() {
    std::size_t right = 0;
    for (auto rest = mine(test_order_, {0, test_order_.size()}); !rest.empty();) {
      const auto some = rest.first(std::min(kEvaluatedAtOnce, rest.size()));
      right += model_.evaluate(data_.test, some).right;
      rest = rest.subspan(some.size());
    }
    return static_cast<double>(right);
  }

  fgc::Communicator& comm_;
  const TrainingRecipe& recipe_;
  const TrainingOptions& options_;
  const Split& data_;
  Mlp model_;
  fgc::Gradients gradients_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> test_order_;
  Clock::time_point began_ = Clock::now();
};

}  // namespace

Range share_of(Range whole, int rank, int ranks) {
  const std::size_t length = whole.end - whole.begin;
  const auto edge = [&](int r) {
    return whole.begin + length * static_cast<std::size_t>(r) / static_cast<std::size_t>(ranks);
  };
  return {edge(rank), edge(rank + 1)};
}

TrainingResult train(fgc::Communicator& comm, const TrainingRecipe& recipe,
                     const TrainingOptions& options, const Split& data,
                     const std::function<void(const Epoch&)>& finished) {
  Trainer trainer(comm, recipe, options, data);
  TrainingResult result;
  for (std::size_t number = 1; number <= options.epochs; ++number) {
    result.epochs.push_back(trainer.run_epoch(number));
    finished(result.epochs.back());
  }
  const std::uint64_t hash = trainer.hash();
  result.hashes.resize(static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span(&hash, 1)),
                  std::as_writable_bytes(std::span(result.hashes)));
  result.wire = trainer.wire();
  return result;
}

}  // namespace training
