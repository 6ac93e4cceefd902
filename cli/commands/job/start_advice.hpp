// Advice about a program that the nodes could not start.
#pragma once

#include <functional>
#include <string>

#include "launcher/job.hpp"

namespace fastgpu::cli {

/// The end of a job that is to be explained.
struct EndOfStart {
  int code = 0;
  std::string reason{};  ///< As the record of the job has it.
};

/// Returns advice for a job that has ended so; empty if none is known. `is_here` returns whether a
/// path names a file on this machine. Pure.
std::string start_advice(const launcher::JobSpec& spec, const EndOfStart& end,
                         const std::function<bool(const std::string&)>& is_here);

}  // namespace fastgpu::cli
