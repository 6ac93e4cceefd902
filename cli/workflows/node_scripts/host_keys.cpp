#include "cli/workflows/node_scripts/host_keys.hpp"

#include "base/names.hpp"
#include "cli/workflows/node_scripts/node_script.hpp"

namespace fastgpu::cli {
namespace {

// The new key is stored beside the old one until sshd uses it. Then a mark in /run, which a reboot
// removes, records that the key is the node's own. The script may be killed between any two lines
// and be run again.
constexpr const char* kMake = R"(set -e
key=/etc/ssh/ssh_host_ed25519_key
next=$key.next
own=/run/fastgpu-host-key-is-own
hostname "$1"
printf '%s\n' "$1" > /etc/hostname
if [ ! -e "$own" ] && [ ! -e "$next.pub" ]; then
  rm -f "$key.part" "$key.part.pub" "$next"
  ssh-keygen -q -t ed25519 -N '' -C '' -f "$key.part"
  mv "$key.part" "$next"
  mv "$key.part.pub" "$next.pub"
fi
if [ -e "$next.pub" ]; then cat "$next.pub"; else cat "$key.pub"; fi
)";

constexpr const char* kShow = R"(set -e
key=/etc/ssh/ssh_host_ed25519_key
next=$key.next
own=/run/fastgpu-host-key-is-own
if [ -e "$next" ]; then mv "$next" "$key"; fi
if [ -e "$next.pub" ]; then mv "$next.pub" "$key.pub"; fi
: > "$own"
pkill -HUP -o -x sshd
)";

std::optional<Error> failure_of(const launcher::NodeAnswer& answer) {
  return script_failure(answer, "get a host key of its own");
}

}  // namespace

std::string make_host_key_command(const state::Node& node) {
  return script_command(node, kMake, {node.name.value});
}

std::string show_host_key_command(const state::Node& node) {
  return script_command(node, kShow, {});
}

HostResult<std::string> host_key_in(const launcher::NodeAnswer& answer) {
  const NodeName& host = answer.result.host;
  if (const auto failure = failure_of(answer)) return {host, *failure};
  std::string key = answer.out.substr(0, answer.out.find('\n'));
  while (key.ends_with(' '))
    key.pop_back();
  if (!key.starts_with("ssh-ed25519 ") || key.find(' ', 12) != std::string::npos)
    return {host, Error(ErrorKind::remote,
                        host.value + " shows no ed25519 host key but '" + printable(key) + "'")};
  return {host, std::move(key)};
}

HostResult<provision::Reached> host_key_shown(const launcher::NodeAnswer& answer) {
  if (const auto failure = failure_of(answer)) return {answer.result.host, *failure};
  return {answer.result.host, provision::Reached{}};
}

}  // namespace fastgpu::cli
