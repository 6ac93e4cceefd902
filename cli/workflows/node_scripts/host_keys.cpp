#include "cli/workflows/node_scripts/host_keys.hpp"

#include "base/names.hpp"
#include "base/outcome.hpp"
#include "cli/workflows/node_scripts/node_script.hpp"

namespace fastgpu::cli {
namespace {

constexpr const char* kMake =
#include "templates/nodes/make_host_key.inc"
    ;

constexpr const char* kShow =
#include "templates/nodes/show_host_key.inc"
    ;

constexpr const char* kDoing = "create its own host key";

std::string key_in(const launcher::NodeAnswer& answer) {
  check_script(answer, kDoing);
  std::string key = answer.out.substr(0, answer.out.find('\n'));
  while (key.ends_with(' '))
    key.pop_back();
  if (!key.starts_with("ssh-ed25519 ") || key.find(' ', 12) != std::string::npos)
    throw Error(ErrorKind::remote, answer.result.host.value + " shows no Ed25519 host key, but '" +
                                       printable(key) + "'");
  return key;
}

}  // namespace

std::string make_host_key_command(const state::Node& node) {
  return script_command(node, kMake, {node.name.value});
}

std::string show_host_key_command(const state::Node& node) {
  return script_command(node, kShow, {});
}

HostResult<std::string> host_key_in(const launcher::NodeAnswer& answer) {
  return {answer.result.host, attempt([&] { return key_in(answer); })};
}

HostResult<provision::Reached> host_key_shown(const launcher::NodeAnswer& answer) {
  return reached_by(answer, kDoing);
}

}  // namespace fastgpu::cli
