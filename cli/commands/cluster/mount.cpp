// mount: mounts an NFS export on all nodes, now and after restarts.
#include <memory>

#include "base/contains.hpp"
#include "base/outcome.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/cluster_options.hpp"
#include "cli/commands/shared/dry_run.hpp"
#include "cli/commands/show/views.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/record_publisher.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

struct MountOptions : ClusterOptions {
  std::string mount;
  bool remove = false;
  bool dry_run = false;
};

using Mounts = std::vector<provision::Mount>;

void add(Mounts& mounts, const provision::Mount& wanted) {
  if (!contains(mounts, wanted)) mounts.push_back(wanted);
}

/// Removes the mounts with a path, with a source, or with both.
void take_away(Mounts& mounts, const std::string& what) {
  const bool has_path = what.find('=') != std::string::npos;
  const bool is_path = what.starts_with('/');
  provision::Mount meant;
  if (!is_path) meant = provision::parse_mount(what);
  std::erase_if(mounts, [&](const provision::Mount& mount) {
    if (is_path) return mount.path == what;
    return has_path ? mount == meant : mount.source == meant.source;
  });
}

/// Changes the mounts of a cluster by the options.
void change_mounts(state::CloudSpec& spec, const MountOptions& options) {
  if (options.remove)
    take_away(spec.mounts, options.mount);
  else if (!options.mount.empty())
    add(spec.mounts, provision::parse_mount(options.mount));
}

/// Returns the cluster's name. Throws for all faults that can be found without the nodes.
ClusterName checked(Context& context, const MountOptions& options) {
  const state::Cluster cluster = find_cluster(context, options.name);
  if (!provision::is_cloud(cluster.provider))
    throw Error(ErrorKind::usage, "mount: cluster '" + options.name + "' is made by provider '" +
                                      cluster.provider +
                                      "': only nodes in clouds can mount exports");
  if (options.remove && options.mount.empty())
    throw Error(ErrorKind::usage, "mount: --remove needs an ADDRESS:/EXPORT or a /PATH");
  if (options.mount.starts_with('/') && !options.remove)
    throw Error(ErrorKind::usage, "mount: the export for " + printable(options.mount) +
                                      " is missing: write ADDRESS:/EXPORT=/PATH");
  state::CloudSpec spec = cluster.cloud();
  change_mounts(spec, options);
  return cluster.name;
}

View view_of(const state::Cluster& cluster) {
  View view;
  view.root = document("mounts");
  view.root["cluster"] = cluster.name.value;
  view.table.columns = {{"SOURCE"}, {"PATH"}};
  const Mounts& mounts = cluster.cloud().mounts;
  view.root["mounts"] = storage_fields({}, mounts)["mounts"];
  for (const auto& [source, path] : mounts) {
    view.names.push_back(source + "=" + path);
    view.table.rows.push_back({source, path});
  }
  view.when_empty = "no mounts";
  return view;
}

/// Returns the mounts that are on record for the cluster.
Mounts recorded(Context& context, const ClusterName& name) {
  const auto cluster = context.store().find_cluster(name);
  return cluster ? cluster->cloud().mounts : Mounts();
}

/// Returns the failure to apply the mounts that are on record to the nodes, with what mends it.
Error with_remedy(Context& context, const MountOptions& options, const ClusterName& name,
                  const Error& failure) {
  const std::string command = "fastgpu mount " + name.value;
  if (options.remove || recorded(context, name).empty()) return failure;
  if (options.mount.empty())
    return {failure.kind(), std::string(failure.what()) + "; `" + command +
                                " PATH --remove` takes a mount off the record"};
  const provision::Mount wanted = provision::parse_mount(options.mount);
  if (!contains(recorded(context, name), wanted)) return failure;
  return {failure.kind(), std::string(failure.what()) + "; " + wanted.source + " at " +
                              wanted.path + " stays on record: `" + command +
                              "` tries again, and `" + command + " " + wanted.path +
                              " --remove` takes it back"};
}

int run(Context& context, const MountOptions& options) {
  const ClusterName name = checked(context, options);
  const auto change = [&](state::CloudSpec& spec) { change_mounts(spec, options); };
  if (options.dry_run) {
    context.ui().show(view_of(provision::plan_storage(context.tools(), name, change)));
    context.ui().note("dry run: nothing was changed");
    return 0;
  }
  const Outcome<state::Cluster> changed = attempt([&] {
    return with_tools(context, options, [&](const provision::Tools& tools) {
      return provision::change_storage(tools, name, change);
    });
  });
  if (!changed.ok()) {
    // The list is of use to someone who has to mend it.
    const auto cluster = context.store().find_cluster(name);
    if (options.mount.empty() && cluster) context.ui().show(view_of(*cluster));
    throw with_remedy(context, options, name, changed.error());
  }
  publish_record(context, changed.value().name);
  context.ui().show(view_of(changed.value()));
  return 0;
}

}  // namespace

Action make_mount_command(Arguments& arguments) {
  auto options = std::make_shared<MountOptions>();
  describe_cluster_options(arguments, *options);
  arguments.text("EXPORT", "",
                 "The export, ADDRESS:/EXPORT, and the mount point, =/PATH (/fastgpu)",
                 options->mount);
  arguments.flag("--remove", "Unmount it, named by its address, its path or both", options->remove);
  describe_dry_run(arguments, options->dry_run);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
