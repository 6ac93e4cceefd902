// attach cluster: takes over a cluster that another machine has made.
#include <memory>

#include "base/fault_point.hpp"
#include "base/host_names.hpp"
#include "cli/commands/cluster/cloud_options.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/cluster_options.hpp"
#include "cli/commands/shared/dry_run.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/takeover.hpp"
#include "provision/cloud/known_names.hpp"
#include "provision/cluster_file/host_word.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

struct AttachClusterOptions : ClusterOptions {
  TakeoverRequest request;
  std::vector<std::string> ssh_from;
  bool dry_run = false;
};

/// Throws, with an alternative, for a provider whose clusters cannot be taken over.
void check_provider(const std::string& provider) {
  if (provider.empty())
    throw Error(ErrorKind::usage,
                "attach cluster: --provider is missing: name the cloud of the cluster");
  provision::check_provider_name(provider);
  const std::string_view reason = provision::provider_info(provider).no_takeover;
  if (!reason.empty()) throw Error(ErrorKind::usage, "attach cluster: " + std::string(reason));
}

int run(Context& context, AttachClusterOptions options) {
  check_provider(options.request.provider);
  for (const std::string& region : options.request.regions)
    provision::cloud::check_identifier("--region", region);
  if (!options.request.id.empty()) provision::cloud::check_identifier("--id", options.request.id);
  provision::check_user(options.request.user);
  options.request.name = parse_cluster_name(options.name);
  options.request.ssh_from = parse_ssh_from(options.ssh_from);
  warn_of_world(context.ui(), options.request.ssh_from);
  std::string& identity = options.request.identity;
  if (identity.ends_with(".pub")) identity.resize(identity.size() - 4);
  if (options.dry_run)
    return show_dry_run(context.ui(), "attach cluster", options.name,
                        plan_takeover(context, options.request));
  context.set_interrupt_hint("cluster " + options.name +
                             " is partly taken over; repeat the command to continue");
  const auto view = with_tools(context, options, [&](const provision::Tools& tools) {
    return take_over(context, tools, options.request);
  });
  keep_guards(context, view.cluster.name, GuardUpdate::changed);
  show_cluster(context, view);
  context.ui().next_steps({"fastgpu get nodes " + view.cluster.name.value});
  return 0;
}

}  // namespace

Action make_attach_cluster_command(Arguments& arguments) {
  auto options = std::make_shared<AttachClusterOptions>();
  Argument& name = describe_cluster_options(arguments, *options);
  name.values = Values::none;
  name.help = "The name that the cluster was created with";
  arguments.text("--provider", "CLOUD", "The cloud of the cluster", options->request.provider)
      .values = Values::provider;
  arguments
      .list("--region", "REGION", "Search this region only (the default regions)",
            options->request.regions)
      .values = Values::region;
  arguments.text("--id", "ID", "The id, if several clusters have this name", options->request.id);
  arguments
      .text("--ssh-key", "FILE", "Private key to log in to the nodes (~/.ssh/id_ed25519)",
            options->request.identity)
      .values = Values::path;
  arguments.text("--user", "NAME", "User name on the nodes (root)", options->request.user);
  arguments.list("--ssh-from", "CIDR",
                 "Allow SSH from this range, too (the public address of this machine)",
                 options->ssh_from);
  arguments.flag("--end-unrecorded",
                 "Terminate machines of the cluster that its record does not list",
                 options->request.ends_unrecorded);
  arguments.flag("--start", "Start stopped machines first", options->request.starts);
  arguments.flag("--force",
                 "Break the lease of a machine that is down and was changing the cluster",
                 options->request.breaks_lease);
  describe_dry_run(arguments, options->dry_run);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
