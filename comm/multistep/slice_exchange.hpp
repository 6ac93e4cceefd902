// The exchange of one slice: its tensors travel with a header, by which ranks judge the round.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/gradients/gradient_exchange.hpp"
#include "comm/multistep/multistep_settings.hpp"
#include "comm/multistep/tensor.hpp"

namespace fastgpu::comm {

/// The numbers that a rank contributes to a round beside its tensors, or their averages over all
/// ranks.
struct RoundHeader {
  double weight = 0;
  double finished = 0;
  double left_out = 0;  ///< 1 for a rank that has left out its steps again and again.
};

/// The exchange of a slice of the tensors; of all of them in modes without slices. Tensors are
/// added, then `compare` is called. In each round `put` is called once and all tensors are made
/// ready, before `wait`. `ready` may be called by any thread; all else by one at a time.
class SliceExchange {
 public:
  /// Borrows `communicator`, and `events` if there are any. Files of a rank have one name, so that
  /// the exchange of slice 0 alone writes them.
  SliceExchange(Communicator& communicator, const GradientSettings& settings,
                const MultistepSettings& mode, std::size_t slice, GradientEvents* events);

  /// Adds the tensor of that number in the set. Borrows its working memory.
  void add(std::size_t number, MultistepTensor& tensor);

  /// Compares what was added with other ranks. A collective; throws as GradientExchange does.
  void compare();

  /// Returns the numbers of the tensors in the set, in the order in which they were added.
  const std::vector<std::size_t>& tensors() const noexcept { return tensors_; }

  /// Makes the tensor at this place in tensors() ready.
  void ready(std::size_t place) { exchange_->ready(ids_[place]); }
  void ready_all();

  /// Makes the header ready, with this rank's numbers.
  void put(const RoundHeader& mine);

  struct Result {
    StepOutcome step;
    RoundHeader average;
  };
  /// Ends the round: tensors have their averages afterwards if it is applied. Throws as
  /// GradientExchange::wait_step does.
  Result wait();

  GradientExchange& gradients() noexcept { return *exchange_; }
  const GradientExchange& gradients() const noexcept { return *exchange_; }

 private:
  std::unique_ptr<GradientExchange> exchange_;
  GradientId header_{};
  std::vector<std::size_t> tensors_;
  std::vector<GradientId> ids_;  ///< By place in `tensors_`.
};

}  // namespace fastgpu::comm
