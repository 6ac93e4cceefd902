#include "cli/workflows/node_scripts/bake.hpp"

#include <sstream>

#include "base/names.hpp"
#include "cli/workflows/node_scripts/node_script.hpp"

namespace fastgpu::cli {
namespace {

constexpr const char* kScript =
#include "templates/nodes/bake.inc"
    ;

}  // namespace

std::string bake_precheck_command(const state::Node& node, const std::string& prefix) {
  return script_command(node, kScript, {"look", prefix});
}

BakePrecheck parse_bake_precheck(const launcher::NodeAnswer& answer) {
  check_script(answer, "be checked");
  BakePrecheck sight;
  std::istringstream lines(answer.out);
  for (std::string key, value; lines >> key && std::getline(lines >> std::ws, value);) {
    value = printable(value, 200);
    if (key == "mount") sight.mount = value;
    if (key == "driver") sight.driver = value;
    if (key == "at-work") sight.at_work = value;
    if (key == "hidden") sight.is_hidden = true;
  }
  return sight;
}

std::string hide_secrets_command(const state::Node& node) {
  return script_command(node, kScript, {"hide"});
}

std::string restore_secrets_command(const state::Node& node) {
  return script_command(node, kScript, {"restore"});
}

}  // namespace fastgpu::cli
