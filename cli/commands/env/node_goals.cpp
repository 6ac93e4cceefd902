#include "cli/commands/env/node_goals.hpp"

#include <utility>

#include "base/files.hpp"
#include "envs/drivers/pgp_key.hpp"

namespace fastgpu::cli {
namespace {

class ShownSteps final : public envs::DriverEvents {
 public:
  explicit ShownSteps(Ui& ui) : ui_(ui) {}

  void started(const NodeName&, const envs::DriverStep& step) override {
    if (step.title == last_) return;
    last_ = step.title;
    ui_.progress(step.title);
  }
  void finished(const NodeName&, const envs::DriverStep&) override {}
  void waiting(const NodeName& node, const Error& why) override {
    ui_.progress(node.value + " waits for another process: " + why.what());
  }

 private:
  Ui& ui_;
  std::string last_;
};

/// Adds the key of another repository from the user's file.
void trust_key_file(envs::Recipe& recipe, const std::string& path) {
  const auto text = read_file(path);
  if (!text) throw Error(ErrorKind::not_found, "--repository-key '" + path + "' does not exist");
  try {
    const std::string fingerprint = envs::key_fingerprint(*text);
    for (envs::PinnedKey* key : {&recipe.apt_key, &recipe.dnf_key}) {
      key->fingerprint = fingerprint;
      key->text = *text;
    }
  } catch (const Error& e) {
    throw Error(ErrorKind::usage, "--repository-key '" + path + "': " + e.what());
  }
}

}  // namespace

void describe_driver_source(Arguments& arguments, DriverSource& source) {
  arguments.text("--repository", "URL", "Use a mirror of NVIDIA's repositories", source.mirror);
  arguments
      .text("--repository-key", "FILE", "Signing key of --repository, if it is not NVIDIA's",
            source.key_file)
      .values = Values::path;
}

void apply(const DriverSource& source, envs::Recipe& recipe) {
  if (!source.mirror.empty()) recipe.mirror = source.mirror;
  while (recipe.mirror.ends_with('/'))
    recipe.mirror.pop_back();
  if (!source.key_file.empty()) trust_key_file(recipe, source.key_file);
}

envs::DriverNodes driver_nodes(Context& context, std::span<const ssh::Host> hosts) {
  return {.client = context.ssh(),
          .hosts = hosts,
          .agent = context.agent(),
          .clock = context.clock(),
          .cancel = context.cancel(),
          .width = context.settings().integer("fanout", 1, 1'024),
          .connect_timeout = context.settings().duration("connect-timeout")};
}

std::vector<HostResult<envs::DriverOutcome>> bring_to_goal(Context& context,
                                                           const envs::DriverNodes& nodes,
                                                           const envs::NodeGoal& goal,
                                                           const envs::DriverInstallOptions& how) {
  ShownSteps steps(context.ui());
  auto outcomes = envs::install_on(nodes, goal, how, steps);
  context.ui().end_progress();
  return outcomes;
}

std::function<envs::NodeFacts(envs::NodeFacts)> assumption(const std::string& gpus) {
  if (gpus.empty()) return {};
  return [gpus](envs::NodeFacts facts) {
    return envs::with_assumed_gpus(std::move(facts), gpus, envs::builtin_matrix());
  };
}

}  // namespace fastgpu::cli
