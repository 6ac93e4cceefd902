#include "cli/commands/env/env_install.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/contains.hpp"
#include "base/files.hpp"
#include "base/join.hpp"
#include "base/utf8.hpp"
#include "cli/program/checked_flag.hpp"
#include "cli/workflows/copy_route.hpp"
#include "envs/environments/accelerator.hpp"
#include "envs/environments/conda_file.hpp"
#include "envs/environments/node_status.hpp"
#include "envs/environments/pinned_file.hpp"
#include "envs/facts/probe.hpp"
#include "http/curl_client.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

envs::InstallationRequest request_for(Context& context, const EnvCluster& cluster,
                                      const EnvironmentChoice& choice,
                                      const EnvInstallOptions& options) {
  envs::InstallationRequest request{.spec = choice.spec,
                                    .lock = choice.lock,
                                    .prefix = cluster.prefix_for(choice.spec.name),
                                    .fastgpu = FASTGPU_VERSION,
                                    .scratch = {},
                                    .toolbox = {}};
  if (options.upgrade && choice.lock)
    throw Error(ErrorKind::usage, "a lock cannot be changed: omit --upgrade, or lock again");
  request.solves_anew = options.upgrade;
  request.archive = choice.archive;
  if (!options.rate.empty()) request.rate = parse_bit_rate(options.rate);
  request.on_doing = [&ui = context.ui()](const NodeName& node, const std::string& doing) {
    ui.progress(node.value + ": " + doing);
  };
  request.on_warning = [&ui = context.ui()](const NodeName& node, const std::string& why) {
    ui.warn(node.value + ": " + escaped(why, Layout::one_line));
  };
  return request;
}

View view_of(const EnvironmentChoice& choice, const envs::InstallationResult& result,
             const MetNeeds& met) {
  View view;
  view.root = document("environment");
  view.root["name"] = choice.spec.name;
  view.root["version"] = result.version;
  view.root["prefix"] = result.prefix;
  view.root["nodes"] = Json::array();
  view.table.columns = {{"NODE"}, {"ENVIRONMENT"}, {"VERSION"}, {"DONE"}};
  for (const auto& node : result.nodes) {
    Json item;
    item["name"] = node.host.value;
    std::string done = "failed";
    if (node.ok()) {
      const envs::NodeSteps& steps = node.value().steps;
      const bool relayed = node.value().relayed;
      done = steps.builds     ? "built"
             : steps.unpacks  ? "unpacked"
             : relayed        ? "received"
             : steps.receives ? "copied"
             : steps.switches ? "switched"
                              : "nothing";
    }
    item["done"] = done;
    const auto before = met.did.find(node.host.value);
    item["prepared"] = before == met.did.end() ? std::vector<std::string>{} : before->second;
    item["error"] = node.ok() ? Json(nullptr) : Json(node.error().what());
    view.root["nodes"].push_back(std::move(item));
    view.table.rows.push_back({node.host.value, choice.spec.name, result.version,
                               Cell(done, node.ok() ? Color::green : Color::red)});
    view.names.push_back(node.host.value);
  }
  return view;
}

std::string python_step(const envs::EnvironmentSpec& spec, const envs::PythonArchive& archive) {
  const std::string what =
      spec.builder == envs::Builder::conda ? "Python for py-rattler" : "Python";
  return "get " + what + " from " + archive.url;
}

/// Shows the steps for each node. Nodes with equal steps share a row. Returns the exit code.
int show_steps(Context& context, EnvCluster& cluster, const EnvironmentChoice& choice,
               const EnvInstallOptions& options) {
  auto request = request_for(context, cluster, choice, options);
  request.pythons = known_pythons(options.building);
  NeededSteps needed = steps_for_needs(context, cluster, choice.spec.needs, options.needs);
  if (needed.hosts.empty()) return report_failures(context, needed.failures);
  if (options.upgrade)
    context.ui().note(
        "--upgrade solves first: packages that differ from the installed ones are built and "
        "copied");
  const auto planned = envs::plan_installation(cluster.access(), needed.hosts, request);
  View view;
  view.root = document("environment-plan");
  view.root["name"] = choice.spec.name;
  view.root["spec"] = to_yaml(choice.spec);
  view.root["nodes"] = Json::array();
  view.table.columns = {{"NODES"}, {"STEPS", false, Fit::prose}};
  std::map<std::string, std::vector<std::string>> nodes_by_steps;
  std::vector<std::string> order;
  std::size_t at = 0;
  for (const auto& node : planned.nodes) {
    if (!node.ok()) continue;
    std::vector<std::string> steps = needed.steps[node.host.value];
    if (planned.python && at == planned.plan.source)
      steps.push_back(python_step(choice.spec, *planned.python));
    std::ranges::copy(describe(planned.plan, at++), std::back_inserter(steps));
    view.root["nodes"].push_back({{"name", node.host.value}, {"steps", steps}});
    view.names.push_back(node.host.value);
    auto& nodes = nodes_by_steps[joined(steps)];
    if (nodes.empty()) order.push_back(joined(steps));
    nodes.push_back(node.host.value);
  }
  for (const std::string& steps : order)
    view.table.rows.push_back({fold_names(nodes_by_steps[steps]), steps});
  context.ui().show(view);
  const int unmet = report_failures(context, needed.failures);
  const int code = report(context, planned.nodes);
  return unmet != 0 ? unmet : code;
}

/// Returns true if the environment lacks installable frameworks of the matrix name that it was made
/// from.
bool lacks_frameworks(const envs::EnvironmentSpec& spec) try {
  if (spec.from.empty() || spec.builder == envs::Builder::conda) return false;
  const auto combination =
      envs::resolve(envs::builtin_matrix(), envs::parse_environment_name(spec.from));
  const auto is_in = [&](const std::string& requirement) {
    return contains(spec.packages, requirement);
  };
  return combination.offered() &&
         !std::ranges::all_of(combination.rows, [&](const envs::FrameworkRow& row) {
           return std::ranges::all_of(row.requirements, is_in);
         });
} catch (const Error&) {
  return false;  // The name in a lock may be missing in this version's matrix.
}

int install(Context& context, EnvCluster& cluster, const EnvironmentChoice& choice,
            const EnvInstallOptions& options) {
  auto request = request_for(context, cluster, choice, options);
  cluster.lock();
  cluster.note_given_prefix();
  const MetNeeds met = meet_needs(context, cluster, choice.spec.needs, options.needs);
  if (met.hosts.empty()) return report_failures(context, met.failures);
  const state::ScratchDirectory scratch(context.state_directory());
  request.scratch = scratch.path();
  use_builder_options(context, options.building, request);
  request.route = [&] { return make_route(context, cluster.target()); };
  request.fetch_source = [&](const envs::Artefact& source) {
    http::CurlClient http(http::curl_settings(context.environment()));
    return envs::fetch_pinned({.url = source.url, .sha256 = source.sha256},
                              "this machine downloads sources for the building node", http,
                              context.cancel(), request.index_timeout,
                              request.logins.authorization(source.url));
  };
  auto result = envs::install(cluster.access(), met.hosts, request);
  for (const auto& [node, error] : met.failures)
    result.nodes.push_back({node, error});
  context.ui().end_progress();
  if (!result.version.empty()) cluster.note_made(choice.spec.name, result);
  context.ui().show(view_of(choice, result, met));
  const int code = report(context, result.nodes);
  if (code == 0 && lacks_frameworks(choice.spec))
    context.ui().next_steps({"fastgpu env install-frameworks " + choice.spec.name + " --cluster " +
                             cluster.target().cluster.name.value});
  return code;
}

/// Returns the facts about the nodes that answer. If the environment brings CANN, they count as
/// having it.
std::vector<envs::KnownNode> known_nodes(Context& context, const EnvCluster& cluster,
                                         const std::string& assumed_gpus,
                                         const envs::NodeNeeds& needs) {
  constexpr std::chrono::minutes kTimeout{2};
  const envs::NodeAccess access = cluster.access();
  ssh::RunOptions options = access.options;
  options.timeout = kTimeout;
  const auto assumed = assumption(assumed_gpus);
  const auto found = envs::probe(access.client, cluster.hosts(), {}, options, context.cancel());
  std::vector<envs::KnownNode> nodes;
  for (const auto& node : found)
    if (node.ok())
      nodes.push_back({node.host.value, assumed ? assumed(node.value()) : node.value()});
  if (nodes.empty()) throw Error(found.front().error());
  for (envs::KnownNode& node : nodes)
    if (needs.cann) node.facts.cann = needs.cann->version;
  return nodes;
}

envs::EnvironmentName chosen_name(Context& context, const EnvCluster* cluster,
                                  const std::string& assumed_gpus,
                                  const envs::EnvironmentSpec& spec, const envs::Matrix& matrix) {
  const envs::WantedName wanted = envs::parse_wanted_name(spec.from);
  if (wanted.has_accelerator) return wanted.name;
  if (cluster == nullptr)
    throw Error(ErrorKind::usage, to_string(wanted) +
                                      " names no accelerator: name a cluster to use that of its "
                                      "nodes (--cluster), or write it like " +
                                      to_string(wanted.name));
  const auto chosen = envs::choose_accelerator(
      matrix, wanted.name, known_nodes(context, *cluster, assumed_gpus, spec.needs));
  const bool brings_it =
      spec.needs.cann && chosen.name.accelerator.platform == envs::Platform::cann;
  const std::string reason =
      brings_it ? "it brings CANN " + spec.needs.cann->version : chosen.reason;
  context.ui().note(to_string(wanted) + " is " + to_string(chosen.name) + " here: " + reason);
  return chosen.name;
}

void describe_rate(Arguments& arguments, EnvInstallOptions& options) {
  checked(arguments.text("--limit-rate", "RATE", "Limit the rate between nodes [300mbit]",
                         options.rate),
          parse_bit_rate);
}

void describe_dry_run(Arguments& arguments, EnvInstallOptions& options) {
  arguments.flag("--dry-run", "Show the steps of each node, without running them", options.dry_run);
}

}  // namespace

void complete_from(Context& context, const EnvCluster* cluster, const std::string& assumed_gpus,
                   PythonOf python, envs::EnvironmentSpec& spec) {
  if (spec.from.empty()) return;
  const envs::Matrix matrix = envs::builtin_matrix();
  const auto combination =
      envs::resolve(matrix, chosen_name(context, cluster, assumed_gpus, spec, matrix));
  for (const std::string& warning : combination.warnings())
    context.ui().warn(warning);
  spec.from = to_string(combination.name);
  if (python == PythonOf::name) spec.python = combination.name.python;
}

config::Document read_environment_file(const std::string& file) {
  config::Document document = config::Document::read(file);
  if (!envs::is_conda_file(document)) return document;
  return config::Document::parse(envs::conda_file_as_yaml(document, file, read_file), file);
}

envs::EnvironmentLock read_lock_file(const std::filesystem::path& file) {
  const auto text = read_file(file);
  if (!text) throw Error(ErrorKind::not_found, "there is no file " + file.string());
  auto lock = envs::parse_lock(*text, file.string());
  lock.spec.folder = file.parent_path();
  return lock;
}

void describe_install_options(Arguments& arguments, EnvInstallOptions& options) {
  describe_builder_options(arguments, options.building);
  arguments.group("Driver");
  describe_needs_options(arguments, options.needs);
  arguments.group("");
  describe_rate(arguments, options);
  arguments.flag("--upgrade", "Solve again, for the newest packages that fit", options.upgrade);
  describe_dry_run(arguments, options);
}

void describe_copy_options(Arguments& arguments, EnvInstallOptions& options) {
  describe_rate(arguments, options);
  describe_dry_run(arguments, options);
}

int install_environment(Context& context, EnvCluster& cluster, const EnvironmentChoice& choice,
                        const EnvInstallOptions& options) {
  return options.dry_run ? show_steps(context, cluster, choice, options)
                         : install(context, cluster, choice, options);
}

}  // namespace fastgpu::cli
