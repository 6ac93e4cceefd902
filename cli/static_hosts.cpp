#include "cli/static_hosts.hpp"

#include "base/error.hpp"
#include "ssh/connection.hpp"
#include "ssh/keys.hpp"
#include "ssh/known_hosts.hpp"
#include "ssh/scan.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::chrono::milliseconds kScanTimeout{10'000};

ssh::Host to_ssh(const provision::StaticHost& host) {
  ssh::Host out{.name = {host.name.empty() ? host.address : host.name},
                .address = host.address,
                .port = host.port,
                .user = host.user.empty() ? "root" : host.user,
                .identity = host.identity};
  for (const state::JumpHost& jump : host.jumps)
    out.jumps.push_back({.name = {jump.address},
                         .address = jump.address,
                         .port = jump.port,
                         .user = jump.user,
                         .identity = host.identity,
                         .host_keys = jump.host_keys});
  return out;
}

void look_up(const std::filesystem::path& known_hosts, provision::StaticHost& host) {
  if (host.host_keys.empty())
    host.host_keys = ssh::known_host_keys_in(known_hosts, host.address, host.port);
  for (state::JumpHost& jump : host.jumps)
    if (jump.host_keys.empty())
      jump.host_keys = ssh::known_host_keys_in(known_hosts, jump.address, jump.port);
}

/// Asks one place for its key and shows its fingerprint.
std::vector<std::string> scan(Context& context, const ssh::Host& host) {
  const auto found = ssh::scan_host_keys({&host, 1}, kScanTimeout, context.cancel());
  if (!found.front().ok())
    throw found.front().error().during("asking " + host.address + " for its key");
  const std::string& key = found.front().value();
  context.ui().warn("accepted the key of " + ssh::place(host) + ", " + ssh::fingerprint(key));
  return {key};
}

void scan_unknown(Context& context, provision::StaticHost& host) {
  for (std::size_t i = 0; i < host.jumps.size(); ++i) {
    if (!host.jumps[i].host_keys.empty()) continue;
    ssh::Host jump = to_ssh(host).jumps[i];
    const auto all = to_ssh(host).jumps;
    jump.jumps.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i));
    host.jumps[i].host_keys = scan(context, jump);
  }
  if (host.host_keys.empty()) host.host_keys = scan(context, to_ssh(host));
}

/// The address of the first place on the way to `host` whose key is not known; "" for none.
std::string unknown_place(const provision::StaticHost& host) {
  for (const state::JumpHost& jump : host.jumps)
    if (jump.host_keys.empty()) return jump.address;
  return host.host_keys.empty() ? host.address : "";
}

}  // namespace

std::vector<provision::StaticHost> ready_static_hosts(Context& context,
                                                      const config::ClusterFile& file,
                                                      const std::filesystem::path& file_directory,
                                                      UnknownHosts unknown) {
  const std::filesystem::path home = context.environment()("HOME").value_or("/");
  const std::filesystem::path own_key = home / ".ssh" / "id_ed25519";
  std::error_code ignored;
  const bool has_own_key = std::filesystem::exists(own_key, ignored);
  std::vector<provision::StaticHost> hosts = provision::static_hosts(file, file_directory, home);
  std::string missing;
  for (provision::StaticHost& host : hosts) {
    if (host.identity.empty() && !has_own_key)
      throw Error(ErrorKind::denied, "no key opens " + host.address + ": " + own_key.string() +
                                         " is not there; make one (ssh-keygen -t ed25519), or name "
                                         "another as the host's identity in the file");
    if (host.identity.empty()) host.identity = own_key;
    look_up(home / ".ssh" / "known_hosts", host);
    if (unknown == UnknownHosts::accept) scan_unknown(context, host);
    const std::string place = unknown_place(host);
    if (!place.empty()) missing += (missing.empty() ? "" : ", ") + place;
  }
  if (!missing.empty())
    throw Error(ErrorKind::denied,
                "the host key of " + missing +
                    " is known neither to the file nor to ~/.ssh/known_hosts: write it into the "
                    "file as host_keys, or trust what answers with --accept-host-keys");
  return hosts;
}

}  // namespace fastgpu::cli
