#include "base/host_names.hpp"
#include "cli/commands/cluster/change_cluster.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/dry_run.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/record_publisher.hpp"
#include "provision/lifecycle.hpp"

namespace fastgpu::cli {
namespace {

int plan_rename(Context& context, const ClusterName& from, const ClusterName& to) {
  provision::look_before_change(context.tools(), from);
  std::vector<std::string> steps;
  if (from != to) {
    provision::check_name_is_free(context.store(), to, from);
    steps.push_back("rename cluster " + from.value + " to " + to.value);
  }
  return show_dry_run(context.ui(), "rename cluster", from.value, steps);
}

int run_rename(Context& context, const ChangeOptions& options) {
  const ClusterName from = find_cluster(context, options.name).name;
  const ClusterName to = parse_cluster_name(options.new_name);
  if (options.dry_run) return plan_rename(context, from, to);
  const auto view = with_tools(context, options, [&](const provision::Tools& tools) {
    return provision::rename_cluster(tools, from, to);
  });
  publish_record(context, to);
  show_cluster(context, view);
  return 0;
}

}  // namespace

Action make_rename_cluster_command(Arguments& arguments) {
  const auto options = describe_one_cluster(arguments);
  arguments.text("NEW", "", "The new name", options->new_name).required = true;
  return [options](Context& context) { return run_rename(context, *options); };
}

}  // namespace fastgpu::cli
