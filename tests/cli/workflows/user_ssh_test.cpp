#include "cli/workflows/user_ssh.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>

#include "support/cli_session.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;
using test::Session;

/// A user with a home and a configuration of OpenSSH. Where OpenSSH's client is not installed the
/// tests have nothing to say.
struct User {
  explicit User(const std::string& config) {
    home = session.directory.path() / "home";
    std::filesystem::create_directories(home / ".ssh");
    session.variables["HOME"] = home.string();
    session.variables["PATH"] = "/usr/local/bin:/usr/bin:/bin";
    if (!config.empty()) put("config", config);
  }

  std::filesystem::path put(const std::string& name, const std::string& text) const {
    const auto file = home / ".ssh" / name;
    std::ofstream(file) << text;
    ::chmod(file.c_str(), 0600);
    return file;
  }

  Session session;
  std::filesystem::path home;
};

TEST_SUITE_BEGIN("cli/user_ssh");

TEST_CASE("a host is found by what the user's configuration has on its name") {
  User user("");
  const auto key = user.put("lab_key", "a key");
  user.put("config", "Host gpu?\n  HostName 192.0.2.7\n  Port 2222\n  User ann\n  IdentityFile " +
                         key.string() +
                         "\n  ProxyJump gate\n  HostKeyAlias the-lab\n  IdentityAgent none\n");
  const UserSsh ssh(user.session.context);
  if (!ssh.is_there()) return;
  const UserSshHost host = ssh.of("gpu1", {});
  CHECK(host.address == "192.0.2.7");
  CHECK(host.port == 2222);
  CHECK(host.user == "ann");
  CHECK(host.proxy == "ProxyJump gate");
  CHECK(host.host_key_alias == "the-lab");
  CHECK(host.identities == std::vector{key});
  CHECK_FALSE(host.has_agent);
  CHECK_FALSE(host.has_certificate);
  CHECK(ssh.of("other", {}).address == "other");
  CHECK(ssh.of("other", {}).user.empty());
}

TEST_CASE("what the cluster file says holds against the configuration") {
  User user("Host gpu1\n  Port 2222\n  User ann\n  ProxyCommand nc %h %p\n");
  const auto key = user.put("own", "a key");
  user.put("own-cert.pub", "a certificate");
  const UserSsh ssh(user.session.context);
  if (!ssh.is_there()) return;
  const UserSshHost host = ssh.of("gpu1", {.port = 23, .user = "eve", .identity = key});
  CHECK(host.port == 23);
  CHECK(host.user == "eve");
  CHECK(host.identities == std::vector{key});
  CHECK(host.has_certificate);
  CHECK(host.proxy == "ProxyCommand nc %h %p");
}

TEST_CASE("an agent is there where the environment or the configuration names one") {
  User user("Host named\n  IdentityAgent /run/agent\nHost off\n  IdentityAgent none\n");
  user.session.variables["SSH_AUTH_SOCK"] = "/run/mine";
  const UserSsh ssh(user.session.context);
  if (!ssh.is_there()) return;
  CHECK(ssh.of("any", {}).has_agent);
  CHECK_FALSE(ssh.of("off", {}).has_agent);
  user.session.variables.erase("SSH_AUTH_SOCK");
  CHECK_FALSE(ssh.of("any", {}).has_agent);
  CHECK(ssh.of("named", {}).has_agent);
}

TEST_CASE("a configuration with an error is a usage error that shows it") {
  User user("Host *\n  NoSuchOption yes\n");
  const UserSsh ssh(user.session.context);
  if (!ssh.is_there()) return;
  const Error e = failure_of([&] { ssh.of("gpu1", {}); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(fastgpu::test::mentions(e, "ssh -G gpu1"));
}

TEST_CASE("without OpenSSH's client a host is as the cluster file has it") {
  User user("Host gpu1\n  Port 2222\n");
  user.session.variables["PATH"] = "/nowhere";
  const UserSsh ssh(user.session.context);
  CHECK_FALSE(ssh.is_there());
  const UserSshHost host = ssh.of("gpu1", {.port = {}, .user = "eve", .identity = {}});
  CHECK(host.address == "gpu1");
  CHECK(host.port == 22);
  CHECK(host.user == "eve");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
