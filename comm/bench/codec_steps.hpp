// The exchange of a model's gradients by each codec, and the speed of the network under it.
#pragma once

#include <array>
#include <string_view>

#include "comm/bench/measure.hpp"
#include "comm/bench/models.hpp"
#include "comm/common/process_environment.hpp"
#include "comm/communicator/communicator.hpp"

namespace fastgpu::comm::bench {

/// The values of FASTGPU_COMM_WIRE that are compared; the first changes nothing.
inline constexpr std::array<std::string_view, 7> kComparedCodecs = {
    "same", "fp16", "bf16", "int8", "1bit", "topk:0.01", "powersgd:4"};

/// Measures an all-reduce, and steps of the model by each of kComparedCodecs in turns, all with the
/// bytes that the ranks of the busiest node send to other nodes. A collective call.
void measure_codecs(Communicator& communicator, const Environment& environment, const Model& model,
                    const BenchSettings& settings, const Emit& emit);

}  // namespace fastgpu::comm::bench
