#include "cli/commands/env/env_needs.hpp"

#include <algorithm>

#include "cli/commands/env/node_goals.hpp"
#include "envs/drivers/fetch_keys.hpp"
#include "http/curl_client.hpp"

namespace fastgpu::cli {
namespace {

envs::Recipe recipe_of(const envs::NodeNeeds& needs, const DriverSource& source,
                       const envs::Matrix& matrix) {
  envs::Recipe recipe;
  apply(source, recipe);
  recipe.driver = needs.driver;
  recipe.cuda = needs.cuda;
  try {
    envs::check_recipe(recipe, matrix);
  } catch (const Error& e) {
    throw e.during("the requirements of the environment");
  }
  return recipe;
}

envs::NodeGoal goal_of(const envs::NodeNeeds& needs, const envs::Recipe& recipe,
                       const envs::Matrix& matrix) {
  envs::NodeGoal goal;
  if (!needs.apt.empty()) envs::add(goal, envs::package_goal(needs.apt));
  if (needs.wants_gpu()) envs::add(goal, envs::driver_goal(recipe, matrix));
  if (needs.cann) envs::add(goal, envs::cann_goal(*needs.cann));
  // The goal of the driver has these steps.
  if (needs.rdma && !needs.wants_gpu()) envs::add(goal, envs::rdma_goal(recipe));
  return goal;
}

std::vector<std::string> titles_to_do(const envs::DriverPlan& plan) {
  std::vector<std::string> titles;
  for (const envs::DriverStep& step : plan.steps)
    if (step.state == envs::StepState::to_do) titles.push_back(step.title);
  return titles;
}

/// Downloads NVIDIA's key if a node has packages of NVIDIA to install.
void fetch_key(Context& context, envs::Recipe& recipe,
               const std::vector<HostResult<envs::PlannedNode>>& plans) {
  std::vector<envs::NodeFacts> in_need;
  for (const auto& plan : plans)
    if (plan.ok() && plan.value().plan.next() != nullptr) in_need.push_back(plan.value().facts);
  http::CurlClient client(http::curl_settings(context.environment()));
  envs::fetch_keys(recipe, in_need, client, context.cancel());
}

Error reboot_wanted(const EnvCluster& cluster, const envs::NodeNeeds& needs) {
  std::string command =
      "fastgpu env install-driver --cluster " + cluster.target().cluster.name.value;
  if (!needs.driver.empty()) command += " --driver " + needs.driver;
  if (!needs.cuda.empty()) command += " --cuda " + needs.cuda;
  return Error(ErrorKind::conflict, "its new driver needs a reboot: '" + command + "' reboots it");
}

}  // namespace

void describe_needs_options(Arguments& arguments, NeedsOptions& options) {
  describe_driver_source(arguments, options.source);
  describe_sudo_password(arguments, options.sudo);
  arguments.text("--assume-gpu", "MODEL[:COUNT]", "Plan as if the nodes had these GPUs [L40S:8]",
                 options.assumed_gpus);
}

NeededSteps steps_for_needs(Context& context, const EnvCluster& cluster,
                            const envs::NodeNeeds& needs, const NeedsOptions& options) {
  NeededSteps needed;
  if (!needs.any()) {
    needed.hosts = cluster.hosts();
    return needed;
  }
  const envs::Matrix matrix = envs::builtin_matrix();
  const envs::NodeGoal goal = goal_of(needs, recipe_of(needs, options.source, matrix), matrix);
  const auto plans =
      envs::plan_on(driver_nodes(context, cluster.hosts()), goal, assumption(options.assumed_gpus));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const auto& plan = plans[i];
    if (!plan.ok()) {
      needed.failures.emplace_back(plan.host, plan.error());
      continue;
    }
    needed.hosts.push_back(cluster.hosts()[i]);
    needed.steps[plan.host.value] = titles_to_do(plan.value().plan);
  }
  return needed;
}

MetNeeds meet_needs(Context& context, const EnvCluster& cluster, const envs::NodeNeeds& needs,
                    const NeedsOptions& options) {
  if (!options.assumed_gpus.empty())
    throw Error(ErrorKind::usage, "--assume-gpu only shows a plan: use it with --dry-run");
  if (!needs.any()) return {.hosts = cluster.hosts(), .did = {}, .failures = {}};
  const envs::DriverInstallOptions how{.reboots = envs::Reboots::never,
                                       .sudo_password = sudo_password(context, options.sudo)};
  const envs::Matrix matrix = envs::builtin_matrix();
  envs::Recipe recipe = recipe_of(needs, options.source, matrix);
  const envs::DriverNodes nodes = driver_nodes(context, cluster.hosts());
  if (needs.wants_gpu())
    fetch_key(context, recipe, envs::plan_on(nodes, goal_of(needs, recipe, matrix)));
  const auto outcomes = bring_to_goal(context, nodes, goal_of(needs, recipe, matrix), how);
  MetNeeds met;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const auto& outcome = outcomes[i];
    if (outcome.ok()) met.did[outcome.host.value] = outcome.value().did;
    if (!outcome.ok())
      met.failures.emplace_back(outcome.host, outcome.error());
    else if (outcome.value().wants_reboot)
      met.failures.emplace_back(outcome.host, reboot_wanted(cluster, needs));
    else
      met.hosts.push_back(cluster.hosts()[i]);
  }
  return met;
}

}  // namespace fastgpu::cli
