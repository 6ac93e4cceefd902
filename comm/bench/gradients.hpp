// The exchange of a model's gradients, without the model.
#pragma once

#include "comm/bench/measure.hpp"
#include "comm/bench/models.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/gradients/gradient_settings.hpp"

namespace fastgpu::comm::bench {

/// Measures steps of a backward pass that takes no time: the last layer first. `gradients` has the
/// settings of the exchange. Throws ErrorKind::remote if an average is wrong.
void measure_gradients(Communicator& communicator, const GradientSettings& gradients,
                       const Model& model, const BenchSettings& settings, const Emit& emit);

/// Returns the result of a model's steps.
BenchResult step_result(const Communicator& communicator, const Model& model, StepFigures figures,
                        const std::string& label);

}  // namespace fastgpu::comm::bench
