// Environment variables, as the library reads them.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace fastgpu::comm {

/// The value of one variable; an empty value counts as absent.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// Returns the variables of this process.
Environment process_environment();

}  // namespace fastgpu::comm
