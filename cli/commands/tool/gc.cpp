#include "provision/gc.hpp"

#include <algorithm>
#include <memory>

#include "base/outcome.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/disk_report.hpp"
#include "cli/commands/show/views.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/image_baking.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/stale_folders.hpp"

namespace fastgpu::cli {
namespace {

struct GcOptions {
  bool dry_run = false;
};

View view_of(const std::vector<provision::Settled>& all,
             const std::vector<FolderCleaning::Skipped>& skipped,
             const std::vector<DiskReport>& disks, provision::GcMode mode) {
  View view;
  view.when_empty = "nothing to clean up";
  view.root = document("gc");
  view.root["settled"] = Json::array();
  view.table.columns = {{"CLUSTER"}, {"WHAT", false, Fit::prose}, {"RESULT", false, Fit::prose}};
  const Cell success = mode == provision::GcMode::look ? Cell("dry run") : Cell("ok", Color::green);
  for (const provision::Settled& settled : all) {
    const bool is_done = settled.outcome.ok();
    const std::string error = is_done ? "" : settled.outcome.error().what();
    view.names.push_back(settled.cluster);
    view.table.rows.push_back(
        {settled.cluster, settled.what, is_done ? success : Cell(error, Color::red)});
    Json item;
    item["cluster"] = settled.cluster;
    item["what"] = settled.what;
    item["error"] = is_done ? Json(nullptr) : Json(error);
    view.root["settled"].push_back(std::move(item));
  }
  view.root["skipped"] = Json::array();
  for (const auto& [cluster, node, why] : skipped)
    view.root["skipped"].push_back({{"cluster", cluster}, {"node", node}, {"error", why}});
  view.root["full_disks"] = Json::array();
  for (const DiskReport& disk : disks)
    view.root["full_disks"].push_back(to_json(disk));
  return view;
}

/// Settles abandoned jobs. Must run before the clusters are settled, because these may be deleted
/// then.
std::vector<provision::Settled> settle_jobs(Context& context, const GcOptions& options) {
  std::vector<provision::Settled> out;
  for (const state::Job& job : abandoned_jobs(context)) {
    const auto cluster = context.store().find_cluster(job.cluster);
    out.push_back({.cluster = cluster ? cluster->name.value : job.cluster.value,
                   .what = "abandoned job " + job.id});
    if (!options.dry_run) out.back().outcome = attempt([&] { end_abandoned(context, job); });
  }
  return out;
}

int run(Context& context, const GcOptions& options) {
  const auto mode = options.dry_run ? provision::GcMode::look : provision::GcMode::remove;
  context.ui().waiting("ending abandoned jobs");
  std::vector<provision::Settled> settled = settle_jobs(context, options);
  // Before the guards, which may stop nodes that have keys only in their memory.
  context.ui().waiting("looking for interrupted images");
  for (provision::Settled& one : settle_bakes(context, options.dry_run))
    settled.push_back(std::move(one));
  const auto carrying = options.dry_run ? Execution::dry_run : Execution::apply;
  context.ui().waiting("carrying out guards");
  for (provision::Settled& one : carry_out_guards(context, carrying))
    settled.push_back(std::move(one));
  for (provision::Settled& one : provision::collect_garbage(context.tools(), mode))
    settled.push_back(std::move(one));
  context.ui().waiting("looking for the folders of former jobs");
  const auto cleaned = attempt(
      [&] { return clean_folders(context, options.dry_run ? Cleaning::look : Cleaning::remove); });
  const FolderCleaning folders = cleaned.ok() ? cleaned.value() : FolderCleaning{};
  settled.insert(settled.end(), folders.settled.begin(), folders.settled.end());
  context.ui().end_progress();
  for (const auto& [cluster, node, why] : folders.skipped)
    context.ui().warn("folders of jobs on node " + node + " of cluster " + cluster +
                      " were not looked at: " + why);
  const std::vector<DiskReport> disks = report_full_disks(context);
  context.ui().show(view_of(settled, folders.skipped, disks, mode));
  for (const DiskReport& disk : disks)
    for (const std::string& line : lines_of(disk))
      context.ui().note(line);
  if (!cleaned.ok()) throw Error(cleaned.error());
  if (std::ranges::all_of(settled, [](const auto& one) { return one.outcome.ok(); })) return 0;
  context.cancel().check();
  return 1;
}

}  // namespace

Action make_gc_command(Arguments& arguments) {
  auto options = std::make_shared<GcOptions>();
  arguments.flag("--dry-run", "Show what would be removed, without removing it", options->dry_run);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
