// The process's environment, as a function, so that tests have another.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace fastgpu::http {

/// Returns the value of an environment variable; absent if it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

}  // namespace fastgpu::http
