// A model's gradients, without the model, and their exchange: equal numbers in each gradient, whose
// sums are known, or numbers of many sizes for codecs.
#pragma once

#include <string>
#include <vector>

#include "comm/bench/bench_settings.hpp"
#include "comm/bench/models.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/gradients/gradient_events.hpp"
#include "comm/gradients/gradient_exchange.hpp"

namespace fastgpu::comm::bench {

/// An exchange of a model's gradients. Its functions are collective.
class ModelExchange {
 public:
  /// Borrows the communicator and the model.
  ModelExchange(Communicator& communicator, const GradientSettings& settings, const Model& model,
                Handing handing);

  /// Makes a step, and returns the seconds that it takes on the slowest rank.
  double step();

  /// Makes a step whose sums are checked: they are exact in every type for up to 128 ranks. Codecs
  /// give other numbers by design: their steps are not checked. Throws ErrorKind::remote for a
  /// wrong sum, naming the element.
  void check_step();

  GradientExchange& gradients() noexcept { return gradients_; }

 private:
  struct Elements;

  /// A printer of the exchange's warnings.
  class Warnings final : public GradientEvents {
   public:
    void warned(const std::string& sentence) override;
  };

  StepOutcome exchange();
  void fill();
  void fill_with_noise();
  Elements elements_of(GradientId id);

  Communicator& communicator_;
  const Model& model_;
  Handing handing_;
  bool is_encoded_;
  std::vector<std::vector<float>> values_;
  Warnings warnings_;
  GradientExchange gradients_;
};

/// Returns the bytes of a model's gradients in float32.
Bytes bytes_of(const Model& model);

}  // namespace fastgpu::comm::bench
