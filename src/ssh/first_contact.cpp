#include "ssh/first_contact.hpp"

#include "process/capture.hpp"
#include "ssh/known_hosts.hpp"
#include "ssh/openssh.hpp"
#include "ssh/openssh_call.hpp"
#include "ssh/openssh_failure.hpp"

namespace fastgpu::ssh {

FirstContact first_contact(const Host& host, const std::string& config,
                           const std::vector<std::string>& options,
                           std::chrono::milliseconds timeout, const Cancel& cancel) {
  const MemoryFile file(config);
  const MemoryFile log("");
  std::vector<std::string> argv{"ssh", "-T", "-o", "PreferredAuthentications=none"};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.insert(argv.end(), {"-E", log.path().string(), "-F", file.path().string(), "--",
                           openssh_name(host), "true"});
  const auto called = process::capture({.argv = argv}, {.timeout = 2 * timeout}, cancel);
  return {.log = log.text(), .errors = called.err};
}

std::vector<std::string> learn_host_keys(const Host& host, std::chrono::milliseconds timeout,
                                         const Cancel& cancel, const std::string& algorithms) {
  const MemoryFile known_hosts(openssh_known_hosts(host.jumps));
  std::vector<std::string> options;
  if (!algorithms.empty()) options = {"-o", "HostKeyAlgorithms=" + algorithms};
  const FirstContact contact = first_contact(
      host, openssh_connection_config(host, known_hosts.path(), timeout, HostKeyTrust::first_use),
      options, timeout, cancel);
  KnownHost shown = known_host(known_hosts.text(), host.name.value, 22);
  std::vector<std::string> keys = std::move(shown.keys);
  keys.insert(keys.end(), shown.other_keys.begin(), shown.other_keys.end());
  if (keys.empty()) throw openssh_failure(host, contact.log, contact.errors);
  return keys;
}

}  // namespace fastgpu::ssh
