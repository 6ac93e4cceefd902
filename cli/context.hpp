// The concrete parts, built when a command first requests them, and returned by reference.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "cli/clouds.hpp"
#include "cli/cluster_tools.hpp"
#include "cli/ui/ui.hpp"
#include "config/settings.hpp"
#include "provision/cloud/owner.hpp"
#include "provision/providers/static/host_access.hpp"
#include "provision/tools.hpp"
#include "remote/agent.hpp"
#include "ssh/client.hpp"
#include "state/directory.hpp"
#include "state/store.hpp"

namespace fastgpu::cli {

/// A function that lists the environment variables that are set.
using VariableNames = std::function<std::vector<std::string>()>;

class Context {
 public:
  Context(Ui& ui, Cancel& cancel, state::Environment environment, VariableNames names = {});
  virtual ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Ui& ui() noexcept { return ui_; }
  Cancel& cancel() noexcept { return cancel_; }
  const state::Environment& environment() const noexcept { return environment_; }
  std::vector<std::string> variable_names() const {
    return variable_names_ ? variable_names_() : std::vector<std::string>();
  }
  Clock& clock() noexcept { return clock_; }

  void set_state_directory(const std::filesystem::path& directory);
  const std::filesystem::path& state_directory();
  state::Store& store();  ///< Throws as its constructor does.

  /// Returns the values for flags that are absent: the environment, fastgpu.yaml here, the user's
  /// own file, the defaults. The first call reads the files and warns of their unused parts.
  const config::Settings& settings();

  ssh::Client& ssh();
  /// Returns another client, for another thread.
  std::unique_ptr<ssh::Client> another_ssh() { return make_ssh(); }
  const remote::AgentProgram& agent();  ///< Throws ErrorKind::local if it is missing.
  /// Returns the API of a cloud by the provider's name. Throws ErrorKind::usage for an unknown name
  /// and for a provider without a cloud.
  provision::cloud::Cloud& cloud(const std::string& name);
  Clouds& clouds();
  /// Returns the mark of this state directory in a cloud.
  provision::cloud::Owner owner(const std::string& provider);
  /// Returns the provider. Throws ErrorKind::usage for an unknown name.
  provision::Provider& provider(const std::string& name);
  /// Returns everything for an operation on a cluster, without a deadline.
  provision::Tools tools();

  /// Sets the receiver of the sentence on what a second Ctrl-C would leave behind, and which
  /// command removes it.
  void on_parting_words(std::function<void(const std::string&)> hear) { hear_ = std::move(hear); }
  void set_parting_words(const std::string& sentence);
  /// Sets the receiver of the sentence on what the first Ctrl-C ends.
  void on_stopping_words(std::function<void(const std::string&)> hear) {
    hear_stopping_ = std::move(hear);
  }
  void set_stopping_words(const std::string& sentence) {
    if (hear_stopping_) hear_stopping_(sentence);
  }

 protected:
  // The parts that a test replaces.
  virtual std::unique_ptr<ssh::Client> make_ssh();
  virtual std::unique_ptr<provision::Provider> make_provider(const std::string& name);

 private:
  Ui& ui_;
  Cancel& cancel_;
  state::Environment environment_;
  SystemClock clock_;
  SshKeyMaker keys_;
  ProgressEvents events_;
  std::filesystem::path state_directory_;
  std::unique_ptr<config::Settings> settings_;
  std::unique_ptr<state::Store> store_;
  std::unique_ptr<ssh::Client> ssh_;
  std::optional<remote::AgentProgram> agent_;
  std::unique_ptr<SshReachability> reachability_;
  std::unique_ptr<provision::HostAccess> host_access_;
  std::unique_ptr<Clouds> clouds_;
  std::map<std::string, std::unique_ptr<provision::cloud::Cloud>> apis_;
  std::map<std::string, std::unique_ptr<provision::Provider>> providers_;
  std::function<void(const std::string&)> hear_;
  std::function<void(const std::string&)> hear_stopping_;
  VariableNames variable_names_;
};

}  // namespace fastgpu::cli
