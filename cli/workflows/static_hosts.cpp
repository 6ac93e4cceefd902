#include "cli/workflows/static_hosts.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/file_status.hpp"
#include "cli/workflows/user_ssh.hpp"
#include "ssh/identity.hpp"

namespace fastgpu::cli {
namespace {

/// Key files for a login: `plain` is the first one that libssh2 can use, `single` the only one if
/// there is just one. Empty without such a file.
struct Choice {
  std::string plain{};
  std::string single{};
};

Choice choose(const std::vector<std::filesystem::path>& files) {
  Choice out;
  for (const std::filesystem::path& file : files)
    if (out.plain.empty() && ssh::identity_kind(file) == ssh::IdentityKind::ed25519)
      out.plain = file.string();
  if (files.size() == 1) out.single = files.front().string();
  return out;
}

/// Completes hosts from the user's configuration of OpenSSH, and chooses how the user logs in.
class Resolver {
 public:
  Resolver(Services& services, const provision::ClusterFile& file, KnownPlaces& known)
      : ssh_(services),
        known_(known),
        has_user_(file.user || services.environment()("FASTGPU_USER").has_value()),
        own_key_(std::filesystem::path(services.environment()("HOME").value_or("/")) / ".ssh" /
                 "id_ed25519") {}

  void resolve(provision::StaticHost& host, const provision::HostEntry& entry) const {
    if (!ssh_.is_there()) {
      give_own_key(host);
      return;
    }
    const UserSshHost found =
        ssh_.of(entry.address, {.port = entry.port, .user = host.user, .identity = host.identity});
    host.address = found.address;
    host.port = found.port;
    if (host.user.empty() && !has_user_) host.user = found.user;
    if (!found.host_key_alias.empty()) known_.call(host.address, host.port, found.host_key_alias);
    const bool is_named = !host.identity.empty();
    if (is_named) check_identity(host.identity);
    const Choice own = choose(found.identities);
    if (found.identities.empty() && !found.has_agent && !found.has_certificate)
      refuse_keyless(host);
    host.openssh = provision::OpenSshUse{.name = entry.address,
                                         .config = ssh_.config().string(),
                                         .proxy = host.jumps.empty() ? found.proxy : "",
                                         .identity = is_named ? host.identity : own.single,
                                         .first = own.plain.empty() || found.has_certificate,
                                         .always = host.jumps.empty() && !found.proxy.empty()};
    if (!is_named) host.identity = own.plain;
    for (std::size_t i = 0; i < host.jumps.size(); ++i)
      resolve_jump(host, host.jumps[i], entry.jumps[i], is_named);
  }

 private:
  void give_own_key(provision::StaticHost& host) const {
    if (!host.identity.empty()) return;
    if (!path_exists(own_key_)) refuse_keyless(host);
    host.identity = own_key_;
  }

  [[noreturn]] void refuse_keyless(const provision::StaticHost& host) const {
    throw Error(ErrorKind::denied,
                "no key opens " + host.address + ": " + own_key_.string() +
                    " does not exist, and there is no other key or agent; create a key (ssh-keygen "
                    "-t ed25519), or name one as the host's identity in the file");
  }

  /// Throws if the identity is missing. A public half is enough, because an agent may have the key.
  static void check_identity(const std::string& identity) {
    if (ssh::identity_kind(identity) == ssh::IdentityKind::missing &&
        !path_exists(identity + ".pub"))
      throw Error(ErrorKind::not_found, "identity file " + identity + " does not exist");
  }

  void resolve_jump(provision::StaticHost& host, provision::StaticJump& jump,
                    const provision::JumpEntry& entry, bool has_named_key) const {
    const UserSshHost found =
        ssh_.of(entry.address, {.port = entry.port, .user = jump.user, .identity = jump.identity});
    jump.address = found.address;
    jump.port = found.port;
    if (jump.user.empty()) jump.user = found.user.empty() ? host.user : found.user;
    if (!found.host_key_alias.empty()) known_.call(jump.address, jump.port, found.host_key_alias);
    if (!jump.identity.empty()) check_identity(jump.identity);
    const Choice own = choose(found.identities);
    if (jump.identity.empty() && !has_named_key)
      jump.identity = own.plain.empty() ? own.single : own.plain;
    const std::string& identity = jump.identity.empty() ? host.identity : jump.identity;
    if (identity.empty() || ssh::identity_kind(identity) != ssh::IdentityKind::ed25519)
      host.openssh->always = true;
  }

  UserSsh ssh_;
  KnownPlaces& known_;
  bool has_user_;
  std::filesystem::path own_key_;
};

}  // namespace

std::vector<provision::StaticHost> ready_static_hosts(Services& services,
                                                      const provision::ClusterFile& file,
                                                      const std::filesystem::path& file_directory,
                                                      UnknownHosts unknown) {
  const std::filesystem::path home = services.environment()("HOME").value_or("/");
  std::vector<provision::StaticHost> hosts = provision::static_hosts(file, file_directory, home);
  KnownPlaces known(home);
  const Resolver resolver(services, file, known);
  for (std::size_t i = 0; i < hosts.size(); ++i)
    resolver.resolve(hosts[i], file.hosts[i]);
  find_host_keys(services, hosts, known, unknown);
  return hosts;
}

}  // namespace fastgpu::cli
