#include "cli/commands/shared/node_path_flag.hpp"

#include <string>

#include "base/error.hpp"

namespace fastgpu::cli {
namespace {

transfer::NodePath path_of(const Argument& argument, const std::string& text) try {
  return transfer::parse_node_path(text);
} catch (const Error& e) {
  throw Error(e.kind(), argument.name + " " + e.what());
}

Argument& add_flag(Arguments& arguments, std::string_view name, std::string_view value,
                   std::string_view help) {
  return arguments.add(
      {.name = std::string(name), .value = std::string(value), .help = std::string(help)});
}

}  // namespace

Argument& describe_node_path(Arguments& arguments, std::string_view name, std::string_view value,
                             std::string_view help, std::optional<transfer::NodePath>& target) {
  Argument& flag = add_flag(arguments, name, value, help);
  flag.take = [&flag, &target](const std::string& text) { target = path_of(flag, text); };
  return flag;
}

Argument& describe_node_paths(Arguments& arguments, std::string_view name, std::string_view value,
                              std::string_view help, std::vector<transfer::NodePath>& target) {
  Argument& flag = add_flag(arguments, name, value, help);
  flag.repeated = true;
  flag.take = [&flag, &target](const std::string& text) { target.push_back(path_of(flag, text)); };
  return flag;
}

}  // namespace fastgpu::cli
