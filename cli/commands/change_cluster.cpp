// start, stop, rename, scale and delete: an operation on a cluster that exists.
#include <algorithm>
#include <memory>

#include "cli/commands/cluster_options.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/lookup.hpp"
#include "cli/commands/views.hpp"
#include "cli/consent.hpp"
#include "cli/guarding.hpp"
#include "cli/meeting.hpp"
#include "cli/record.hpp"
#include "envs/environments/record.hpp"
#include "provision/lifecycle.hpp"
#include "provision/takeover.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

struct Options : ClusterOptions {
  std::string new_name;
  std::optional<int> nodes;
  bool replace_lost = false;
  bool yes = false;
  bool forget = false;
};

std::string counted(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " node" : " nodes");
}

/// New nodes have none of the environments that the others have.
void show_environments_to_bring(Context& context, const state::Cluster& cluster) {
  const auto record =
      envs::read_record(state::cluster_directory(context.state_directory(), cluster.id));
  std::vector<std::string> next;
  for (const auto& [name, prefix] : record.prefix)
    next.push_back("fastgpu env create " + name + " --cluster " + cluster.name.value);
  if (!next.empty()) context.ui().next_steps(next);
}

/// What others own goes on without this state directory.
int run_forget(Context& context, const Options& options) {
  const ClusterName name = find_cluster(context, options.name).name;
  provision::forget_cluster(tools_for(context, options), name);
  View view;
  view.root = document("forgotten");
  view.root["cluster"] = options.name;
  view.names = {options.name};
  if (context.ui().for_people())
    context.ui().note("forgot cluster " + options.name + "; its machines are somebody else's");
  else
    context.ui().show(view);
  return 0;
}

int run_delete(Context& context, const Options& options) {
  if (options.forget) return run_forget(context, options);
  const state::Cluster cluster = find_cluster(context, options.name);
  const std::size_t count = context.store().nodes(cluster.id).size();
  if (!consents(context, options.yes,
                "Delete cluster " + options.name + " (" + counted(count) + ")?")) {
    context.ui().note("nothing deleted");
    return 1;
  }
  context.set_parting_words("cluster " + options.name +
                            " is half deleted; remove the rest with: fastgpu gc");
  provision::delete_cluster(tools_for(context, options), cluster.name);
  View view;
  view.root = document("deleted");
  view.root["cluster"] = options.name;
  view.names = {options.name};
  context.ui().end_progress();
  if (context.ui().for_people())
    context.ui().note("deleted cluster " + options.name);
  else
    context.ui().show(view);
  return 0;
}

int run_start(Context& context, const Options& options) {
  const ClusterName name = find_cluster(context, options.name).name;
  const provision::Tools tools = tools_for(context, options);
  auto view = provision::start_cluster(tools, name);
  const auto is_lost = [](const state::Node& node) { return node.state == state::NodeState::lost; };
  const auto lost = static_cast<std::size_t>(std::ranges::count_if(view.nodes, is_lost));
  if (options.replace_lost)
    view = provision::replace_lost_nodes(tools, name);
  else if (lost > 0)
    context.ui().warn(counted(lost) + " of cluster " + options.name +
                      " lost: `fastgpu start cluster " + options.name +
                      " --replace-lost` makes new ones in place");
  if (lost == 0 || options.replace_lost) meet(context, tools, view.cluster);
  keep_guards(context, name, Occasion::changed);
  publish_record(context, name);
  show_cluster(context, view);
  if (lost > 0 && options.replace_lost) show_environments_to_bring(context, view.cluster);
  return 0;
}

int run_stop(Context& context, const Options& options) {
  const ClusterName name = find_cluster(context, options.name).name;
  const auto view = provision::stop_cluster(tools_for(context, options), name);
  keep_guards(context, name, Occasion::changed, Reach::cloud_alone);
  show_cluster(context, view);
  context.ui().next_steps({"fastgpu start cluster " + options.name});
  return 0;
}

int run_rename(Context& context, const Options& options) {
  const ClusterName from = parse_cluster_name(options.name);
  const ClusterName to = parse_cluster_name(options.new_name);
  const auto view = provision::rename_cluster(tools_for(context, options), from, to);
  publish_record(context, to);
  show_cluster(context, view);
  return 0;
}

int run_scale(Context& context, const Options& options) {
  if (!options.nodes) throw Error(ErrorKind::usage, "scale cluster: --nodes is missing");
  const state::Cluster cluster = find_cluster(context, options.name);
  const std::size_t present = context.store().nodes(cluster.id).size();
  const auto wanted = static_cast<std::size_t>(*options.nodes);
  if (wanted < present && !consents(context, options.yes,
                                    "Delete the last " + counted(present - wanted) +
                                        " of cluster " + options.name + "?")) {
    context.ui().note("nothing deleted");
    return 1;
  }
  context.set_parting_words("cluster " + options.name +
                            " is half scaled; settle it with: fastgpu gc");
  const provision::Tools tools = tools_for(context, options);
  const auto view = provision::scale_cluster(tools, cluster.name, *options.nodes);
  if (wanted > present) meet(context, tools, cluster);
  keep_guards(context, cluster.name, Occasion::changed);
  publish_record(context, cluster.name);
  show_cluster(context, view);
  if (wanted > present) show_environments_to_bring(context, cluster);
  return 0;
}

std::shared_ptr<Options> describe_options(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  describe_cluster_options(arguments, *options);
  return options;
}

}  // namespace

Action describe_delete_cluster(Arguments& arguments) {
  const auto options = describe_options(arguments);
  describe_consent(arguments, options->yes);
  arguments.flag("--forget", "Only forget a cluster that another machine has taken over",
                 options->forget);
  return [options](Context& context) { return run_delete(context, *options); };
}

Action describe_start_cluster(Arguments& arguments) {
  const auto options = describe_options(arguments);
  arguments.flag("--replace-lost", "Make new machines for nodes whose machines are gone",
                 options->replace_lost);
  return [options](Context& context) { return run_start(context, *options); };
}

Action describe_stop_cluster(Arguments& arguments) {
  const auto options = describe_options(arguments);
  return [options](Context& context) { return run_stop(context, *options); };
}

Action describe_rename_cluster(Arguments& arguments) {
  const auto options = describe_options(arguments);
  arguments.text("NEW", "", "Its new name", options->new_name).required = true;
  return [options](Context& context) { return run_rename(context, *options); };
}

Action describe_scale_cluster(Arguments& arguments) {
  const auto options = describe_options(arguments);
  Argument& nodes = arguments.count("--nodes", "N", "How many nodes it shall have", options->nodes,
                                    1, provision::kMostNodes);
  nodes.letter = "-n";
  describe_consent(arguments, options->yes);
  return [options](Context& context) { return run_scale(context, *options); };
}

}  // namespace fastgpu::cli
