// env install-driver: drivers and CUDA on the nodes of a cluster.
#include <algorithm>
#include <memory>

#include "base/counted.hpp"
#include "base/join.hpp"
#include "base/quote.hpp"
#include "cli/commands/cluster/running_jobs.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/env/node_goals.hpp"
#include "cli/commands/node/remote_output.hpp"
#include "cli/commands/node/sudo_password.hpp"
#include "cli/workflows/remote_target.hpp"
#include "envs/drivers/fetch_keys.hpp"
#include "envs/drivers/install.hpp"
#include "http/curl_client.hpp"

namespace fastgpu::cli {
namespace {

struct EnvInstallDriverOptions {
  std::string cluster;
  envs::Recipe recipe;
  std::string from;
  DriverSource source;
  SudoPasswordOptions sudo;
  std::string reboot = "auto";
  std::string assumed;
  bool dry_run = false;
};

using Plans = std::vector<HostResult<envs::PlannedNode>>;
using DriverOutcomes = std::vector<HostResult<envs::DriverOutcome>>;

std::string word_of(envs::StepState state) {
  switch (state) {
    case envs::StepState::done:
      return "done";
    case envs::StepState::to_do:
      return "to do";
    case envs::StepState::left_out:
      return "left out";
  }
  return "";
}

Color color_of_step(envs::StepState state) {
  switch (state) {
    case envs::StepState::done:
      return Color::green;
    case envs::StepState::to_do:
      return Color::yellow;
    case envs::StepState::left_out:
      break;
  }
  return Color::none;
}

Json json_of(const Error& error) {
  return Json{{"kind", word_for(error.kind())}, {"message", error.what()}};
}

Json json_of(const envs::DriverStep& step) {
  Json item;
  item["title"] = step.title;
  item["state"] = word_of(step.state);
  item["reboots"] = step.reboots;
  item["note"] = step.note;
  item["commands"] = step.commands;
  return item;
}

/// Nodes with the same GPUs and the same plan.
struct NodeGroup {
  std::vector<std::string> nodes;
  const envs::PlannedNode* planned = nullptr;
};

std::string accelerators_of(const envs::NodeFacts& facts) {
  return envs::describe_gpus(facts) + ", " + facts.os.name + ", " + facts.arch;
}

std::vector<NodeGroup> folded(const Plans& plans) {
  std::vector<NodeGroup> groups;
  for (const auto& result : plans) {
    if (!result.ok()) continue;
    const envs::PlannedNode& planned = result.value();
    const auto same = std::ranges::find_if(groups, [&](const NodeGroup& group) {
      return group.planned->plan == planned.plan &&
             accelerators_of(group.planned->facts) == accelerators_of(planned.facts);
    });
    if (same == groups.end())
      groups.push_back({{result.host.value}, &planned});
    else
      same->nodes.push_back(result.host.value);
  }
  return groups;
}

View view_of(const Plans& plans) {
  View view;
  view.root = document("driver-plan");
  view.root["groups"] = Json::array();
  view.root["errors"] = Json::array();
  view.table.columns = {{"NODES"},
                        {"STEP", false, Fit::prose},
                        {"STATE"},
                        {"NOTE", false, Fit::prose},
                        {"COMMANDS", true}};
  for (const NodeGroup& group : folded(plans)) {
    const std::string nodes = fold_names(group.nodes);
    Json item;
    item["nodes"] = group.nodes;
    item["machine"] = accelerators_of(group.planned->facts);
    item["steps"] = Json::array();
    view.names.push_back(nodes);
    view.table.rows.push_back({nodes, accelerators_of(group.planned->facts), "", "", ""});
    for (const envs::DriverStep& step : group.planned->plan.steps) {
      item["steps"].push_back(json_of(step));
      std::string commands;
      for (const envs::Argv& argv : step.commands)
        append_item(commands, shell_join(argv), "; ");
      view.table.rows.push_back({"", "  " + step.title,
                                 Cell(word_of(step.state), color_of_step(step.state)), step.note,
                                 commands});
    }
    view.root["groups"].push_back(std::move(item));
  }
  for (const auto& result : plans)
    if (!result.ok())
      view.root["errors"].push_back(
          Json{{"node", result.host.value}, {"error", json_of(result.error())}});
  return view;
}

/// Shows each error once, with the nodes that have it. Returns the exit code.
template <class T>
int report_errors(Ui& ui, const std::vector<HostResult<T>>& results) {
  struct Said {
    std::string text;
    std::vector<std::string> nodes;
  };
  std::vector<Said> all;
  int code = 0;
  for (const auto& result : results) {
    if (result.ok()) continue;
    code = std::max(code, exit_code(result.error().kind()));
    const std::string text = result.error().what();
    const auto same = std::ranges::find(all, text, &Said::text);
    if (same == all.end())
      all.push_back({text, {result.host.value}});
    else
      same->nodes.push_back(result.host.value);
  }
  for (const Said& said : all)
    ui.error_data(said.nodes.size() == 1 ? host_line({said.nodes.front()}, said.text)
                                         : fold_names(said.nodes) + ": " + said.text + "\n");
  return code;
}

View view_of(const DriverOutcomes& outcomes) {
  View view;
  view.root = document("driver-installation");
  view.root["nodes"] = Json::array();
  view.table.columns = {{"NODE"}, {"DRIVER"}, {"RESULT", false, Fit::prose}};
  for (const auto& outcome : outcomes) {
    Json item;
    item["name"] = outcome.host.value;
    view.names.push_back(outcome.host.value);
    if (!outcome.ok()) {
      item["error"] = json_of(outcome.error());
      view.table.rows.push_back({outcome.host.value, "", Cell("failed", Color::red)});
    } else {
      const envs::DriverOutcome& done = outcome.value();
      item["error"] = nullptr;
      item["driver"] = done.driver;
      item["did"] = done.did;
      item["wants_reboot"] = done.wants_reboot;
      const std::string steps = counted(done.did.size(), "step") + " done";
      const std::string result = done.wants_reboot  ? "reboot it, then repeat the command"
                                 : done.did.empty() ? "nothing to do"
                                                    : steps;
      view.table.rows.push_back({outcome.host.value, done.driver, result});
    }
    view.root["nodes"].push_back(std::move(item));
  }
  return view;
}

void finish(EnvInstallDriverOptions& options, const envs::Matrix& matrix) {
  if (options.from == "distribution") options.recipe.source = envs::PackageSource::distribution;
  apply(options.source, options.recipe);
  envs::check_recipe(options.recipe, matrix);
  if (!options.assumed.empty() && !options.dry_run)
    throw Error(ErrorKind::usage, "--assume-gpu only shows a plan: use it with --dry-run");
}

int install(Context& context, EnvInstallDriverOptions& options,
            const std::optional<Secret>& password, const envs::DriverNodes& nodes,
            const envs::Matrix& matrix, const Plans& plans) {
  std::vector<envs::NodeFacts> in_need;
  for (const auto& result : plans)
    if (result.ok() && result.value().plan.next() != nullptr)
      in_need.push_back(result.value().facts);
  http::CurlClient client(http::curl_settings(context.environment()));
  envs::fetch_keys(options.recipe, in_need, client, context.cancel());
  const envs::DriverInstallOptions how{
      .reboots = options.reboot == "never" ? envs::Reboots::never : envs::Reboots::automatic,
      .sudo_password = password};
  const DriverOutcomes outcomes =
      bring_to_goal(context, nodes, envs::driver_goal(options.recipe, matrix), how);
  context.ui().show(view_of(outcomes));
  const bool unfinished = std::ranges::any_of(
      outcomes, [](const auto& outcome) { return outcome.ok() && outcome.value().wants_reboot; });
  return std::max(report_errors(context.ui(), outcomes), unfinished ? 1 : 0);
}

/// Returns the nodes whose plan has steps left.
std::vector<state::Node> nodes_to_change(const std::vector<state::Node>& nodes,
                                         const Plans& plans) {
  std::vector<state::Node> changed;
  for (const auto& result : plans)
    if (result.ok() && result.value().plan.next() != nullptr)
      changed.push_back(*std::ranges::find(nodes, result.host, &state::Node::name));
  return changed;
}

int run(Context& context, EnvInstallDriverOptions options) {
  const envs::Matrix matrix = envs::builtin_matrix();
  finish(options, matrix);
  const RemoteTarget target = running_nodes(context, options.cluster);
  std::optional<Secret> password;
  if (!options.dry_run) password = sudo_password(context, options.sudo);
  const envs::DriverNodes nodes = driver_nodes(context, target.hosts);
  const Plans plans =
      envs::plan_on(nodes, envs::driver_goal(options.recipe, matrix), assumption(options.assumed));
  const bool none = std::ranges::none_of(plans, [](const auto& plan) { return plan.ok(); });
  if (options.dry_run && !none) context.ui().show(view_of(plans));
  if (options.dry_run || none) return report_errors(context.ui(), plans);
  refuse_while_used(
      jobs_on(context, target.cluster, nodes_to_change(target.nodes, plans), JobSource::nodes),
      "nodes whose driver is to be changed");
  return install(context, options, password, nodes, matrix, plans);
}

}  // namespace

Action make_env_install_driver_command(Arguments& arguments) {
  auto options = std::make_shared<EnvInstallDriverOptions>();
  Argument& cluster =
      arguments.text("--cluster", "CLUSTER[/NODES]", "Nodes to install on", options->cluster);
  cluster.letter = "-c";
  cluster.required = true;
  cluster.values = Values::target;
  envs::Recipe& recipe = options->recipe;
  arguments.text("--driver", "VERSION",
                 "Driver branch or release [580, 580.95.05] (the installed one, or one that fits)",
                 recipe.driver);
  arguments.text("--cuda", "VERSION", "Install the CUDA toolkit, too [13.0]", recipe.cuda);
  arguments.text("--cudnn", "VERSION", "Install cuDNN, too [9]", recipe.cudnn);
  Argument& reboot =
      arguments.text("--reboot", "WHEN", "Reboot nodes if it is needed (auto)", options->reboot);
  reboot.values = Values::choice;
  reboot.choices = {"auto", "never"};
  Argument& from = arguments.text("--from", "SOURCE", "Package source (vendor)", options->from);
  from.values = Values::choice;
  from.choices = {"vendor", "distribution"};
  describe_driver_source(arguments, options->source);
  describe_sudo_password(arguments, options->sudo);
  arguments.text("--assume-gpu", "MODEL[:COUNT]", "Plan as if the nodes had these GPUs [L40S:8]",
                 options->assumed);
  arguments.flag("--dry-run", "Show the plan of each node, without installing", options->dry_run);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
