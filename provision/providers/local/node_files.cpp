#include "provision/providers/local/node_files.hpp"

#include <sstream>

#include "base/contains.hpp"
#include "provision/providers/local/order.hpp"

namespace fastgpu::provision::local {
namespace {

constexpr std::string_view kBegin = "# The cluster's hosts, kept by fastgpu\n";
constexpr std::string_view kEnd = "# End of the cluster's hosts\n";

}  // namespace

std::string hosts_block(std::span<const HostsLine> entries) {
  std::string text(kBegin);
  for (const HostsLine& entry : entries)
    text += to_string(entry.address) + " " + entry.name + "\n";
  return text + std::string(kEnd);
}

std::string merge_hosts(std::string_view existing, std::string_view block) {
  // The last whole block. A line that only begins one is kept, with all lines after it.
  std::size_t begin = existing.rfind(kBegin);
  std::size_t end = existing.npos;
  while (begin != existing.npos && (end = existing.find(kEnd, begin)) == existing.npos)
    begin = begin == 0 ? existing.npos : existing.rfind(kBegin, begin - 1);
  std::string text;
  if (begin == existing.npos || end == existing.npos) {
    text = existing;
    if (!text.empty() && text.back() != '\n') text += '\n';
    return text.append(block);
  }
  text = existing.substr(0, begin);
  return text.append(block).append(existing.substr(end + kEnd.size()));
}

std::string first_hosts(std::string_view block) {
  return "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n" + std::string(block);
}

std::string sshd_config() {
  return std::string(
             "Port 22\n"
             "HostKey /etc/ssh/ssh_host_ed25519_key\n"
             "AuthorizedKeysFile /etc/fastgpu/authorized_keys\n"
             "AuthenticationMethods publickey\n"
             "PasswordAuthentication no\n"
             "KbdInteractiveAuthentication no\n"
             "HostbasedAuthentication no\n"
             "PermitRootLogin prohibit-password\n"
             "UsePAM no\n"
             "UseDNS no\n"
             "MaxStartups 1000\n"
             "MaxSessions 1000\n"
             "PrintMotd no\n"
             "PrintLastLog no\n"
             "AcceptEnv LANG LC_*\n"
             "SetEnv PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
             "Subsystem sftp internal-sftp\n"
             "PidFile ") +
         kSshdPidFile + "\n";
}

std::string shadow_without_passwords(std::string_view passwd) {
  std::string text;
  std::istringstream lines{std::string(passwd)};
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t colon = line.find(':'); colon != line.npos && colon > 0)
      text += line.substr(0, colon) + ":*:::::::\n";
  return text;
}

std::string unlock_accounts(std::string_view shadow, std::span<const std::string> users) {
  std::string text;
  std::istringstream lines{std::string(shadow)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    const bool wanted = colon != line.npos && contains(users, line.substr(0, colon));
    if (wanted && line.compare(colon + 1, 1, "!") == 0)
      line.replace(colon + 1, line.find(':', colon + 1) - colon - 1, "*");
    text += line + "\n";
  }
  return text;
}

}  // namespace fastgpu::provision::local
