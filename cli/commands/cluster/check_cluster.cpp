// check cluster: looks for what would make jobs fail or slow.
#include <algorithm>
#include <map>
#include <memory>

#include "base/counted.hpp"
#include "base/join.hpp"
#include "cli/commands/cluster/check_view.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/target_argument.hpp"
#include "cli/program/context.hpp"

namespace fastgpu::cli {
namespace {

struct CheckClusterOptions {
  std::string target;
};

/// Returns "; not checked: gpus, driver (no GPU)"; empty if all checks apply.
std::string skipped_text(const CheckReport& report) {
  std::map<std::string, std::vector<std::string>> names_by_reason;
  for (const CheckLine& line : report.checks)
    if (line.result == "skipped") names_by_reason[line.skipped_for].push_back(line.name);
  std::string text;
  for (const auto& [reason, names] : names_by_reason)
    text += (text.empty() ? "; not checked: " : ", ") + joined(names) + " (" + reason + ")";
  return text;
}

int run(Context& context, const CheckClusterOptions& options) {
  const RemoteTarget target =
      running_nodes(context, options.target, Access::inspect, Absent::noted);
  const CheckReport report = check_cluster(context, target);
  if (!report.findings.empty() || !context.ui().for_people()) context.ui().show(view_of(report));
  const auto done = std::ranges::count_if(
      report.checks, [](const CheckLine& line) { return line.result != "skipped"; });
  context.ui().note(counted(done, "check") + " of " + counted(report.nodes.size(), "node") + ": " +
                    counts_of(report.findings) + skipped_text(report));
  return worst_of(report.findings) == "error" ? 1 : 0;
}

}  // namespace

Action make_check_cluster_command(Arguments& arguments) {
  arguments.offer_table();
  auto options = std::make_shared<CheckClusterOptions>();
  describe_target(arguments, options->target);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
