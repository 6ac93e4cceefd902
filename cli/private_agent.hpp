// An ssh-agent for one run of fastgpu: keys with a passphrase are unlocked once, for all hosts.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "cli/context.hpp"

namespace fastgpu::cli {

/// Returns true if the agent that the user's environment names has the key of `identity`, which has
/// its public half in a file beside it.
bool agent_has(Context& context, const std::filesystem::path& identity);

/// Ends with its owner.
class PrivateAgent {
 public:
  /// Throws not_found where OpenSSH's ssh-agent is not installed.
  explicit PrivateAgent(Context& context);
  ~PrivateAgent();
  PrivateAgent(const PrivateAgent&) = delete;
  PrivateAgent& operator=(const PrivateAgent&) = delete;

  /// Makes ssh-add ask for the passphrases at our terminal. Throws denied where one is wrong.
  void add(std::span<const std::string> identities);

  std::filesystem::path socket() const;

 private:
  struct Running;
  Context& context_;
  std::unique_ptr<Running> running_;
};

}  // namespace fastgpu::cli
