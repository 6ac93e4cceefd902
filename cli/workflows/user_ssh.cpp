#include "cli/workflows/user_ssh.hpp"

#include <pwd.h>
#include <unistd.h>

#include "base/contains.hpp"
#include "base/file_status.hpp"
#include "process/capture.hpp"
#include "ssh/openssh.hpp"
#include "ssh/openssh_call.hpp"

namespace fastgpu::cli {
namespace {

constexpr Bytes kMostOutput{256UL << 10};

std::string first_of(const ssh::OpenSshSettings& settings, std::string_view name) {
  const auto found = settings.find(name);
  return found == settings.end() || found->second.front() == "none" ? "" : found->second.front();
}

std::string proxy_of(const ssh::OpenSshSettings& settings) {
  if (const auto jump = first_of(settings, "proxyjump"); !jump.empty()) return "ProxyJump " + jump;
  if (const auto command = first_of(settings, "proxycommand"); !command.empty())
    return "ProxyCommand " + command;
  return "";
}

bool has_ssh(const state::Environment& environment) {
  try {
    process::find_program("ssh", environment("PATH").value_or("/usr/local/bin:/usr/bin:/bin"));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Returns the files of a setting that exist, with "~" replaced by `home`.
std::vector<std::filesystem::path> files_of(const ssh::OpenSshSettings& settings,
                                            std::string_view name,
                                            const std::filesystem::path& home) {
  std::vector<std::filesystem::path> files;
  const auto found = settings.find(name);
  if (found == settings.end()) return files;
  for (const std::string& written : found->second) {
    const std::filesystem::path file =
        written.starts_with("~/") ? home / written.substr(2) : std::filesystem::path(written);
    if (file.is_absolute() && path_exists(file) && !contains(files, file)) files.push_back(file);
  }
  return files;
}

}  // namespace

std::string login_name() {
  const passwd* const entry = ::getpwuid(::geteuid());
  return entry == nullptr ? "" : entry->pw_name;
}

UserSsh::UserSsh(Services& services)
    : services_(services),
      home_(services.environment()("HOME").value_or("/")),
      is_there_(has_ssh(services.environment())) {
  if (const auto config = home_ / ".ssh" / "config"; path_exists(config)) config_ = config;
}

UserSshHost UserSsh::of(const std::string& name, const OwnSettings& own) const {
  UserSshHost host{.address = name, .port = own.port.value_or(22), .user = own.user};
  if (!is_there_) return host;
  const ssh::MemoryFile config(ssh::openssh_user_config(config_));
  process::Command command{.argv = {"ssh", "-G", "-F", config.path().string()}};
  if (own.port) command.argv.insert(command.argv.end(), {"-p", std::to_string(*own.port)});
  if (!own.user.empty()) command.argv.insert(command.argv.end(), {"-l", own.user});
  command.argv.insert(command.argv.end(), {"--", name});
  const auto called = process::capture(command, {.limit = kMostOutput}, services_.cancel());
  if (!called.status.ok()) {
    std::string said = printable(called.err.substr(0, called.err.find('\n')), 300);
    throw Error(ErrorKind::usage, "ssh -G " + name + " " + process::describe(called.status) +
                                      (said.empty() ? "" : ": " + said));
  }
  const auto settings = ssh::parse_openssh_settings(called.out);
  if (const auto address = first_of(settings, "hostname"); !address.empty()) host.address = address;
  if (const auto port = first_of(settings, "port"); !port.empty())
    host.port = static_cast<std::uint16_t>(std::stoul(port));
  // The client names our own account if the configuration has no user, which must not be taken for
  // one.
  if (const auto user = first_of(settings, "user"); own.user.empty() && user != login_name())
    host.user = user;
  host.proxy = proxy_of(settings);
  host.host_key_alias = first_of(settings, "hostkeyalias");
  host.identities =
      own.identity.empty() ? files_of(settings, "identityfile", home_) : std::vector{own.identity};
  host.has_certificate = !files_of(settings, "certificatefile", home_).empty();
  for (const auto& identity : host.identities)
    host.has_certificate = host.has_certificate || path_exists(identity.string() + "-cert.pub");
  const auto agent = settings.find("identityagent");
  const bool is_off = agent != settings.end() && agent->second.front() == "none";
  const bool is_named = agent != settings.end() && agent->second.front() != "SSH_AUTH_SOCK";
  host.has_agent = !is_off && (is_named || services_.environment()("SSH_AUTH_SOCK").has_value());
  return host;
}

}  // namespace fastgpu::cli
