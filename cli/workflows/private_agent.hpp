// An ssh-agent for one run of fastgpu: keys with a passphrase are unlocked once, for all hosts.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

/// Returns true if the agent of the user's environment has the key of `identity`, which has its
/// public half in a file beside it.
bool agent_has(Services& services, const std::filesystem::path& identity);

/// An agent that ends with its owner.
class PrivateAgent {
 public:
  /// Starts it. Throws not_found if OpenSSH's ssh-agent is not installed.
  explicit PrivateAgent(Services& services);
  ~PrivateAgent();
  PrivateAgent(const PrivateAgent&) = delete;
  PrivateAgent& operator=(const PrivateAgent&) = delete;

  /// Makes ssh-add ask for the passphrases at our terminal. Throws denied if one is wrong.
  void add(std::span<const std::string> identities);

  std::filesystem::path socket() const;

 private:
  struct Running;
  Services& services_;
  std::unique_ptr<Running> running_;
};

}  // namespace fastgpu::cli
