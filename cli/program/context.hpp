// The composition root: creates the program's objects when a command first needs them, and returns
// references to them.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/ui/ui.hpp"
#include "cli/workflows/cloud_factory.hpp"
#include "cli/workflows/local_tools.hpp"
#include "cli/workflows/services.hpp"
#include "cli/workflows/ssh_reachability.hpp"
#include "provision/providers/static/host_access.hpp"

namespace fastgpu::cli {

/// Returns the names of the environment variables that are set.
using VariableNames = std::function<std::vector<std::string>()>;

/// Passes what workflows report on to the terminal.
class UiMessages final : public Messages {
 public:
  explicit UiMessages(Ui& ui) : ui_(ui) {}
  void warn(std::string_view line) override { ui_.warn(line); }
  void note(std::string_view line) override { ui_.note(line); }
  void progress(std::string_view step) override { ui_.progress(step); }
  void waiting(std::string_view what) override { ui_.waiting(what); }
  void end_progress() override { ui_.end_progress(); }

 private:
  Ui& ui_;
};

/// The services of the program, and its terminal.
class Context : public Services {
 public:
  Context(Ui& ui, Cancel& cancel, state::Environment environment, VariableNames names = {});
  ~Context() override;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Ui& ui() noexcept { return ui_; }
  std::vector<std::string> variable_names() const {
    return variable_names_ ? variable_names_() : std::vector<std::string>();
  }
  void set_state_directory(const std::filesystem::path& directory);
  /// Returns the time limit for the calls of clouds that `cancel()` ends.
  provision::cloud::RetryLimit& retry_limit() noexcept { return retry_limit_; }
  /// Returns the provider. Throws ErrorKind::usage for an unknown name.
  provision::Provider& provider(const std::string& name);

  Messages& messages() override { return messages_; }
  bool can_ask() override;
  Cancel& cancel() override { return cancel_; }
  Clock& clock() override { return clock_; }
  const state::Environment& environment() const override { return environment_; }
  const std::filesystem::path& state_directory() override;
  state::Store& store() override;
  const config::Settings& settings() override;
  ssh::Client& ssh() override;
  std::unique_ptr<ssh::Client> another_ssh() override { return make_ssh(); }
  const remote::AgentProgram& agent() override;
  provision::cloud::Cloud& cloud(const std::string& name) override;
  CloudFactory& clouds() override;
  provision::cloud::Owner owner(const std::string& provider) override;
  provision::Tools tools() override;
  void set_interrupt_hint(const std::string& sentence) override;

  /// Sets the function that receives the parting words: what a second Ctrl-C would leave behind,
  /// and which command removes it.
  void on_interrupt_hint(std::function<void(const std::string&)> hear) {
    on_interrupt_hint_ = std::move(hear);
  }
  /// Sets the function that receives the stop notice: what the first Ctrl-C ends.
  void on_stop_notice(std::function<void(const std::string&)> hear) {
    on_stop_notice_ = std::move(hear);
  }
  void set_stop_notice(const std::string& sentence) {
    if (on_stop_notice_) on_stop_notice_(sentence);
  }

  /// Sets the id of the job or array that the command has recorded or was asked about, which its
  /// error then names; "" for none.
  void set_job(const std::string& id) { job_ = id; }
  const std::string& job() const noexcept { return job_; }

 protected:
  // Tests replace these.
  virtual std::unique_ptr<ssh::Client> make_ssh();
  virtual std::unique_ptr<provision::Provider> make_provider(const std::string& name);

 private:
  Ui& ui_;
  UiMessages messages_;
  Cancel& cancel_;
  provision::cloud::RetryLimit retry_limit_;
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
  std::unique_ptr<CloudFactory> clouds_;
  std::map<std::string, std::unique_ptr<provision::cloud::Cloud>> apis_;
  std::map<std::string, std::unique_ptr<provision::Provider>> providers_;
  std::function<void(const std::string&)> on_interrupt_hint_;
  std::function<void(const std::string&)> on_stop_notice_;
  VariableNames variable_names_;
  std::string job_{};
};

}  // namespace fastgpu::cli
