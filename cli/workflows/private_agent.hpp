// An ssh-agent for one run of fastgpu: the passphrase of a key is requested only once, for all
// hosts.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

/// Returns true if the user's agent (SSH_AUTH_SOCK) has the key of the file `identity`. Reads its
/// public half from IDENTITY.pub.
bool agent_has(Services& services, const std::filesystem::path& identity);

/// A process of ssh-agent that ends with the object.
class PrivateAgent {
 public:
  /// Starts the agent. Throws not_found if OpenSSH's ssh-agent is not installed.
  explicit PrivateAgent(Services& services);
  ~PrivateAgent();
  PrivateAgent(const PrivateAgent&) = delete;
  PrivateAgent& operator=(const PrivateAgent&) = delete;

  /// Adds keys by ssh-add, which asks for their passphrases at the terminal. Throws denied for a
  /// wrong passphrase.
  void add(std::span<const std::string> identities);

  std::filesystem::path socket() const;

 private:
  struct Running;
  Services& services_;
  std::unique_ptr<Running> running_;
};

}  // namespace fastgpu::cli
