#include "cli/program/command.hpp"

namespace fastgpu::cli {

std::string CliCommand::words() const {
  const std::string_view plural = verb == "get" ? "s" : "";
  return std::string(verb) + (noun.empty() ? "" : " " + std::string(noun) + std::string(plural));
}

}  // namespace fastgpu::cli
