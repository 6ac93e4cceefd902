// Advice about a program that the nodes could not start.
#pragma once

#include <functional>
#include <string>

#include "launcher/job.hpp"

namespace fastgpu::cli {

/// Returns advice for a job that has ended with `code`; empty if none is known. `is_here` returns
/// whether a path names a file on this machine. Pure.
std::string start_advice(const launcher::JobSpec& spec, int code,
                         const std::function<bool(const std::string&)>& is_here);

}  // namespace fastgpu::cli
