// The Client over libssh2 or OpenSSH's client, as each host needs. One poll loop on the caller's
// thread drives all sessions.
#pragma once

#include "ssh/client.hpp"
#include "ssh/idle_connections.hpp"

namespace fastgpu::ssh {

class SshClient final : public Client {
 public:
  explicit SshClient(const Timeouts& timeouts = {}) : timeouts_(timeouts) {}

  std::vector<HostResult<Exit>> run(std::vector<Task> tasks, const RunOptions& options,
                                    const Cancel& cancel) override;

 private:
  Timeouts timeouts_;
  Identities identities_;  // Idle connections borrow them.
  IdleConnections idle_;
};

}  // namespace fastgpu::ssh
