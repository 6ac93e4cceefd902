#include "cli/program/automation.hpp"

#include "base/error.hpp"
#include "base/literals.hpp"

namespace fastgpu::cli {

bool is_automated(const state::Environment& environment) {
  const std::string text = environment(kInAutomation).value_or("");
  try {
    return !text.empty() && parse_boolean(text);
  } catch (const Error& e) {
    throw e.during(std::string("the environment variable ") + kInAutomation);
  }
}

}  // namespace fastgpu::cli
