#include "ssh/openssh.hpp"
#include "ssh/openssh_failure.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::ssh {
namespace {

Host host(const std::string& name, const std::string& address) {
  return {.name = {name},
          .address = address,
          .user = "root",
          .identity = "/my keys/id",
          .host_keys = {"ssh-ed25519 KEY" + name}};
}

TEST_CASE("OpenSSH is told of a host what we know of it, and to believe nothing else") {
  const std::vector<Host> hosts = {host("t-0", "198.51.100.1")};
  CHECK(openssh_config(hosts, "/state/known_hosts") ==
        "Host t-0\n  HostName 198.51.100.1\n  Port 22\n  User root\n"
        "  IdentityFile \"/my keys/id\"\n  IdentitiesOnly yes\n  HostKeyAlias t-0\n"
        "  UserKnownHostsFile \"/state/known_hosts\"\n  GlobalKnownHostsFile /dev/null\n"
        "  StrictHostKeyChecking yes\n  ProxyJump none\n");
  CHECK(openssh_known_hosts(hosts) == "t-0 ssh-ed25519 KEYt-0\n");
}

TEST_CASE("the first host of a cluster answers to the name of the cluster, too") {
  const std::vector<Host> hosts = {host("t-0", "198.51.100.1"), host("t-1", "198.51.100.2")};
  const std::string text = openssh_config(hosts, "/k", "t");
  CHECK(text.starts_with("Host t-0 t\n"));
  CHECK(text.find("\nHost t-1\n") != std::string::npos);
}

TEST_CASE("who is on the way has a section of its own, once") {
  std::vector<Host> hosts = {host("t-1", "10.0.0.2"), host("t-2", "10.0.0.3")};
  for (Host& each : hosts)
    each.jumps = {host("t-0", "198.51.100.1")};
  const std::string text = openssh_config(hosts, "/k");
  CHECK(text.find("ProxyJump t-0\n") != std::string::npos);
  CHECK(text.find("Host t-0\n") == text.rfind("Host t-0\n"));
  CHECK(openssh_known_hosts(hosts).ends_with("t-0 ssh-ed25519 KEYt-0\n"));
}

TEST_CASE("a host that only we reach is refused") {
  std::vector<Host> hosts = {host("t-0", "10.0.0.1")};
  hosts[0].socket_broker = "/broker";
  CHECK(test::failure_of([&] { openssh_config(hosts, "/k"); }).kind() == ErrorKind::usage);
}

TEST_CASE("a zone in an address is no token of OpenSSH's") {
  const std::vector<Host> hosts = {host("t-0", "fe80::1%eth0")};
  CHECK(openssh_config(hosts, "/k").find("HostName fe80::1%%eth0\n") != std::string::npos);
}

std::string connection(const Host& to) {
  return openssh_connection_config(to, "/proc/7/fd/9", std::chrono::milliseconds(2'500));
}

bool has(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST_CASE("with a cluster's key the client reads nothing of the user's, and asks nothing") {
  Host to = host("t-0", "198.51.100.1");
  to.openssh = OpenSsh{.name = "box", .config = "/home/ann/.ssh/config"};
  const std::string text = connection(to);
  CHECK(openssh_name(to) == "t-0");
  CHECK(text.find("Include") == std::string::npos);
  for (const char* const line :
       {"Host t-0", "  HostName 198.51.100.1", "  IdentityFile \"/my keys/id\"",
        "  IdentitiesOnly yes", "  IdentityAgent none", "  BatchMode yes", "  HostKeyAlias t-0",
        "  UserKnownHostsFile \"/proc/7/fd/9\"", "  GlobalKnownHostsFile /dev/null",
        "  StrictHostKeyChecking yes", "  UpdateHostKeys no", "  ConnectTimeout 3",
        "  ControlPath none", "  ProxyJump none"}) {
    CAPTURE(line);
    CHECK(has(text, line));
  }
}

TEST_CASE("as the user the client has all settings of the user's, behind those that are pinned") {
  Host to = host("t-0", "198.51.100.1");
  to.identity.clear();
  to.openssh = OpenSsh{.login = Login::as_user,
                       .name = "box",
                       .config = "/home/ann/.ssh/config",
                       .proxy = "ProxyCommand nc -X 5 %h %p",
                       .agent = "/run/agent"};
  const std::string text = connection(to);
  CHECK(openssh_name(to) == "box");
  CHECK(has(text, "Host box"));
  CHECK(has(text, "  HostKeyAlias t-0"));
  CHECK(has(text, "  IdentityAgent \"/run/agent\""));
  CHECK(has(text, "  ProxyCommand nc -X 5 %h %p"));
  CHECK(text.find("IdentityFile") == std::string::npos);
  CHECK(text.find("IdentitiesOnly") == std::string::npos);
  CHECK(
      text.ends_with("Match all\n  Include \"/home/ann/.ssh/config\"\n"
                     "  Include /etc/ssh/ssh_config\n"));
  CHECK(text.find("StrictHostKeyChecking yes") < text.find("Include"));
}

TEST_CASE("the user's settings are read from a path that has patterns and percent signs") {
  CHECK(openssh_user_config("/home/100%d [a]*/.ssh/config") ==
        "Match all\n  Include \"/home/100[%%]d [[]a][*]/.ssh/config\"\n"
        "  Include /etc/ssh/ssh_config\n");
}

TEST_CASE("each jump host of the client has its own key, port and known keys") {
  Host to = host("t-1", "10.0.0.2");
  to.openssh = OpenSsh{};
  to.jumps = {host("gate", "198.51.100.9")};
  to.jumps[0].port = 2222;
  to.jumps[0].identity = "/keys/gate";
  const std::string text = connection(to);
  CHECK(has(text, "  ProxyJump gate"));
  const std::string behind = text.substr(text.find("Host gate\n"));
  CHECK(has(behind, "  Port 2222"));
  CHECK(has(behind, "  IdentityFile \"/keys/gate\""));
  CHECK(has(behind, "  HostKeyAlias gate"));
  CHECK(has(behind, "  StrictHostKeyChecking yes"));
}

TEST_CASE("why the client does not get in is read from what it writes") {
  struct Case {
    const char* log;
    const char* errors;
    ErrorKind kind;
    const char* words;
  };
  const Case cases[] = {
      {"@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nSHA256:abc.\n"
       "Host key verification failed.\n",
       "", ErrorKind::denied, "(it is SHA256:abc)"},
      {"No RSA host key is known for t-0 and you have requested strict checking.\r\n"
       "Host key verification failed.\r\n",
       "", ErrorKind::denied, "not one of the known keys"},
      {"root@10.0.0.1: Permission denied (publickey).\n", "", ErrorKind::denied,
       "login as root with the key /my keys/id is refused"},
      {"Load key \"/my keys/id\": invalid format\r\nroot@10.0.0.1: Permission denied "
       "(publickey).\n",
       "", ErrorKind::denied,
       "login as root with the key /my keys/id (which cannot be read: invalid format; a private "
       "key "
       "is needed) is refused"},
      {"Unable to negotiate with 10.0.0.1 port 22: no matching MAC found. Their offer: x,y\n", "",
       ErrorKind::denied, "no matching MAC found. Their offer: x,y"},
      {"Connection closed by UNKNOWN port 65535\n", "gate@10.0.0.9: Permission denied (publickey).",
       ErrorKind::denied, "gate (10.0.0.9:22), on the way to t-0 (10.0.0.1:22): login is refused"},
      {"Connection closed by UNKNOWN port 65535\n",
       "No ED25519 host key is known for gate and you have requested strict checking.\r\n"
       "Host key verification failed.\r\n",
       ErrorKind::denied, "gate (10.0.0.9:22), on the way to t-0 (10.0.0.1:22): its host key"},
      {"Connection closed by UNKNOWN port 65535\n",
       "WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!\nSHA256:abc.\nHost key for gate has "
       "changed and you have requested strict checking.\n",
       ErrorKind::denied, "gate (10.0.0.9:22), on the way"},
      {"Connection closed by UNKNOWN port 65535\n", "Host key verification failed.\r\n",
       ErrorKind::denied, "the way to t-0 (10.0.0.1:22): its host key"},
      {"ssh: Could not resolve hostname x: Name or service not known\r\n", "", ErrorKind::transient,
       "Could not resolve hostname x"},
      {"ssh: connect to host 10.0.0.1 port 22: Connection refused\r\n", "", ErrorKind::transient,
       "Connection refused"},
      {"kex_exchange_identification: Connection closed by remote host\nConnection closed by 1\n",
       "", ErrorKind::transient, "Connection closed by 1"},
      {"/home/ann/.ssh/config: line 3: Bad configuration option: hots\n", "", ErrorKind::usage,
       "hots"},
      {"", "", ErrorKind::transient, "ended without a word"},
  };
  Host to = host("t-0", "10.0.0.1");
  to.openssh = OpenSsh{};
  to.jumps = {host("gate", "10.0.0.9")};
  for (const Case& c : cases) {
    const Error e = openssh_failure(to, c.log, c.errors);
    CAPTURE(std::string(e.what()));
    CHECK(e.kind() == c.kind);
    CHECK(test::mentions(e, c.words));
    CHECK(test::mentions(e, "t-0 (10.0.0.1:22)"));
  }
  to.openssh->login = Login::as_user;
  CHECK(
      test::mentions(openssh_failure(to, "root@10.0.0.1: Permission denied (publickey).\n", ""),
                     "login as root with the key /my keys/id and your keys, agent and certificates "
                     "(ssh -v shows them) is refused"));
  to.identity.clear();
  CHECK(test::mentions(openssh_failure(to, "root@10.0.0.1: Permission denied (publickey).\n", ""),
                       "login as root with your keys, agent and certificates"));
  CHECK(openssh_turned_away("kex_exchange_identification: Connection closed by remote host\n"));
  CHECK(!openssh_turned_away("ssh: connect to host x port 22: Connection refused\n"));
  CHECK(openssh_logged_in("Authenticated to t ([1::2]:22) using \"publickey\".\n"));
  CHECK(
      !openssh_lost("Authenticated to t ([1::2]:22) using \"publickey\".\n"
                    "Transferred: sent 2, received 3 bytes, in 0.1 seconds\n"));
  CHECK(openssh_lost("Timeout, server t-0 not responding.\r\n"));
}

TEST_CASE("what ssh -G prints is settings with one or several values") {
  const auto settings = parse_openssh_settings(
      "host box\nuser ann\nidentityfile ~/.ssh/a b\nidentityfile ~/.ssh/c\nproxyjump gate\n"
      "junk\n\nport 2222");
  CHECK(settings.at("identityfile") == std::vector<std::string>{"~/.ssh/a b", "~/.ssh/c"});
  CHECK(settings.at("proxyjump").front() == "gate");
  CHECK(settings.at("port").front() == "2222");
  CHECK(!settings.contains("junk"));
}

}  // namespace
}  // namespace fastgpu::ssh
