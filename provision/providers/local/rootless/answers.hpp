// Results and failures as text, to pass from one process to another.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/host_result.hpp"
#include "provision/provider.hpp"

namespace fastgpu::provision::local {

/// Encodes `value` as a success, or an error as a failure.
std::string to_answer(const std::string& value);
std::string to_answer(const Error& error);

/// Returns the value of a success. Throws the Error of a failure, and ErrorKind::local if the
/// answer was cut off because its maker has died.
std::string from_answer(const std::string& answer);

std::string encode_results(const std::vector<HostResult<Instance>>& results);
std::vector<HostResult<Instance>> decode_results(const std::string& text);

}  // namespace fastgpu::provision::local
