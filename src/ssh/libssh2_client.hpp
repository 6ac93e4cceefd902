// The Client over libssh2: one poll loop on the caller's thread drives all sessions.
#pragma once

#include "ssh/client.hpp"
#include "ssh/idle_connections.hpp"

namespace fastgpu::ssh {

class Libssh2Client final : public Client {
 public:
  std::vector<HostResult<Exit>> run(std::vector<Task> tasks, const RunOptions& options,
                                    const Cancel& cancel) override;

 private:
  Identities identities_;  // Idle connections borrow them.
  IdleConnections idle_;
};

}  // namespace fastgpu::ssh
