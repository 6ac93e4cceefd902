// The events of a gradient exchange.
#pragma once

#include <string>

namespace fastgpu::comm {

/// A listener, called by the thread that calls the exchange, during that call: may not call back.
class GradientEvents {
 public:
  virtual ~GradientEvents() = default;

  /// Receives one sentence: a rank that keeps others waiting, or a number that is not finite.
  virtual void warned(const std::string& sentence) = 0;
};

}  // namespace fastgpu::comm
