#include "cli/program/context.hpp"

#include <unistd.h>

#include <utility>

#include "cli/program/automation.hpp"
#include "cli/workflows/helper_programs.hpp"
#include "cli/workflows/lease.hpp"
#include "cli/workflows/local_place.hpp"
#include "cli/workflows/noting_client.hpp"
#include "cli/workflows/ssh_host_access.hpp"
#include "provision/cloud/cloud_provider.hpp"
#include "provision/cloud/exchange_rates.hpp"
#include "provision/providers.hpp"
#include "provision/providers/local/local_provider.hpp"
#include "provision/providers/local/rootless/rootless_provider.hpp"
#include "provision/providers/static/static_provider.hpp"
#include "remote/copy_options.hpp"
#include "ssh/ssh_client.hpp"
#include "state/private_place.hpp"

namespace fastgpu::cli {

Context::Context(Ui& ui, Cancel& cancel, state::Environment environment, VariableNames names)
    : ui_(ui),
      messages_(ui),
      cancel_(cancel),
      retry_limit_(cancel),
      environment_(std::move(environment)),
      clock_(cancel),
      events_(messages_),
      variable_names_(std::move(names)) {}

Context::~Context() = default;

bool Context::can_ask() {
  const Terminal terminal = ui_.terminal();
  return terminal.in && terminal.err && !is_automated(environment_);
}

void Context::set_state_directory(const std::filesystem::path& directory) {
  state_directory_ = std::filesystem::absolute(directory);
  const std::string local = environment_("FASTGPU_LOCAL_DIR").value_or("");
  remote::keep_here(state_directory_,
                    local.empty() ? std::filesystem::path() : std::filesystem::absolute(local));
}

const std::filesystem::path& Context::state_directory() {
  if (state_directory_.empty()) set_state_directory(state::choose_directory(environment_));
  return state_directory_;
}

state::Store& Context::store() {
  if (!store_) store_ = std::make_unique<state::Store>(state_directory());
  return *store_;
}

namespace {

/// Throws ErrorKind::usage, with the file of the setting, if its value is not a list of exchange
/// rates. src/config cannot check this, because it does not know rates.
void check_exchange_rates(const config::Setting& setting) {
  if (setting.text.empty()) return;
  try {
    provision::cloud::ExchangeRates::built_in().set(setting.text);
  } catch (const Error& e) {
    throw e.during(setting.where);
  }
}

}  // namespace

const config::Settings& Context::settings() {
  if (settings_) return *settings_;
  std::vector<std::string> providers;
  for (const provision::ProviderInfo& info : provision::provider_table())
    providers.emplace_back(info.name);
  const auto look_up = [this](const std::string& name) { return environment_(name.c_str()); };
  settings_ = std::make_unique<config::Settings>(
      config::read_layers("fastgpu.yaml", look_up, std::move(providers)));
  for (const std::string& warning : settings_->warnings())
    ui_.warn_unless_error(warning);
  check_exchange_rates(settings_->find("exchange-rate"));
  return *settings_;
}

ssh::Client& Context::ssh() {
  if (!ssh_) ssh_ = make_ssh();
  return *ssh_;
}

const remote::AgentProgram& Context::agent() {
  if (!agent_) {
    remote::AgentFiles others;
    for (const char* const machine : {"aarch64", "x86_64"})
      if (auto file = seek_helper("fastgpu-agent-" + std::string(machine)))
        others.emplace(remote::MachineName{machine}, *file);
    agent_ = remote::read_agent_program(find_helper("fastgpu-agent"), std::move(others));
  }
  return *agent_;
}

CloudFactory& Context::clouds() {
  if (!clouds_)
    clouds_ = std::make_unique<CloudFactory>(messages_, environment_, cancel_, retry_limit_);
  return *clouds_;
}

provision::cloud::Cloud& Context::cloud(const std::string& name) {
  provision::check_provider_name(name);
  std::unique_ptr<provision::cloud::Cloud>& api = apis_[name];
  if (!api) api = clouds().make(name);
  if (!api) throw Error(ErrorKind::usage, "provider '" + name + "' is not a cloud");
  return *api;
}

provision::cloud::Owner Context::owner(const std::string& provider) {
  state::require_private_place(state_directory());
  return provision::cloud::Owner(state_directory() / "owners" / provider);
}

provision::Provider& Context::provider(const std::string& name) {
  std::unique_ptr<provision::Provider>& place = providers_[name];
  if (!place) place = make_provider(name);
  return *place;
}

provision::Tools Context::tools() {
  if (!reachability_) reachability_ = std::make_unique<SshReachability>(ssh(), clock_, store());
  return {
      .store = store(),
      .providers = [this](const std::string& name) -> provision::Provider& {
        return provider(name);
      },
      .keys = keys_,
      .reachability = *reachability_,
      .events = events_,
      .clock = clock_,
      .cancel = cancel_,
      .hold = [this](const provision::Tools& tools,
                     const state::Cluster& cluster) { return lease_for(*this, tools, cluster); },
      .setup = reachability_.get()};
}

std::unique_ptr<ssh::Client> Context::make_ssh() {
  const ssh::Timeouts timeouts{.connect = settings().duration("connect-timeout"),
                               .answer = settings().duration("answer-timeout")};
  return std::make_unique<NotingClient>(std::make_unique<ssh::SshClient>(timeouts),
                                        timeouts.connect);
}

std::unique_ptr<provision::Provider> Context::make_provider(const std::string& name) {
  provision::check_provider_name(name);
  if (name == "local") {
    const std::filesystem::path root = local_place(environment_, state_directory());
    const provision::local::LocalConfig config{.root = root,
                                               .init_program = find_helper("fastgpu-node-init"),
                                               .hidden = {state_directory(), root}};
    if (::geteuid() == 0) return std::make_unique<provision::LocalProvider>(config);
    return std::make_unique<provision::RootlessProvider>(
        config, provision::local::world_folder(state_directory()));
  }
  if (name == "static") {
    host_access_ = std::make_unique<SshHostAccess>(*this);
    return std::make_unique<provision::StaticProvider>(*host_access_);
  }
  if (provision::is_cloud(name))
    return std::make_unique<provision::cloud::CloudProvider>(cloud(name), owner(name),
                                                             provision::cloud::wait_for, cancel_);
  throw Error(ErrorKind::internal, "provider " + name + " is in the table but cannot be created");
}

void Context::set_interrupt_hint(const std::string& sentence) {
  if (on_interrupt_hint_) on_interrupt_hint_(sentence);
}

}  // namespace fastgpu::cli
