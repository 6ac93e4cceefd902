#include "comm/common/process_environment.hpp"

#include <cstdlib>

namespace fastgpu::comm {

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

}  // namespace fastgpu::comm
