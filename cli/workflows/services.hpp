// The parts of the program that workflows use. They know neither the terminal nor the command line.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/cancel.hpp"
#include "base/clock.hpp"
#include "config/settings.hpp"
#include "provision/cloud/cloud.hpp"
#include "provision/cloud/owner.hpp"
#include "provision/tools.hpp"
#include "remote/agent.hpp"
#include "ssh/client.hpp"
#include "state/directory.hpp"
#include "state/store.hpp"

namespace fastgpu::cli {

class CloudFactory;

/// The timeout of an operation on a cluster, unless another is set.
inline constexpr std::chrono::minutes kDefaultTimeout{10};

/// The receiver of what a workflow reports to the user while it runs.
class Messages {
 public:
  virtual ~Messages() = default;
  virtual void warn(std::string_view line) = 0;
  /// Reports a detail that a quiet user does not see.
  virtual void note(std::string_view line) = 0;
  /// Reports the present step; the last one is shown until end_progress().
  virtual void progress(std::string_view step) = 0;
  /// Reports a wait that is usually short: without a terminal, it is shown only if it lasts.
  virtual void waiting(std::string_view what) = 0;
  virtual void end_progress() = 0;
};

/// The parts, each made at its first use and returned by reference.
class Services {
 public:
  virtual ~Services() = default;

  virtual Messages& messages() = 0;
  /// Returns true if a person can be asked a question at the terminal.
  virtual bool can_ask() = 0;
  virtual Cancel& cancel() = 0;
  virtual Clock& clock() = 0;
  virtual const state::Environment& environment() const = 0;
  virtual const std::filesystem::path& state_directory() = 0;
  virtual state::Store& store() = 0;  ///< Throws as its constructor does.
  /// Returns the values of absent flags: from the environment, from fastgpu.yaml in the current
  /// directory, from the user's own file, or the defaults. The first call reads the files and warns
  /// of their unused parts.
  virtual const config::Settings& settings() = 0;

  virtual ssh::Client& ssh() = 0;
  /// Returns another client, for another thread.
  virtual std::unique_ptr<ssh::Client> another_ssh() = 0;
  virtual const remote::AgentProgram& agent() = 0;  ///< Throws ErrorKind::local if it is missing.

  /// Returns the API of the cloud with the provider's name. Throws ErrorKind::usage for an unknown
  /// name and for a provider that is not a cloud.
  virtual provision::cloud::Cloud& cloud(const std::string& name) = 0;
  virtual CloudFactory& clouds() = 0;
  /// Returns the owner mark of this state directory for a cloud's machines.
  virtual provision::cloud::Owner owner(const std::string& provider) = 0;
  /// Returns everything for an operation on a cluster, without a deadline.
  virtual provision::Tools tools() = 0;

  /// Sets the sentence on what a second Ctrl-C would leave behind, and which command removes it.
  virtual void set_interrupt_hint(const std::string& sentence) = 0;
};

}  // namespace fastgpu::cli
