#include "cli/commands/job/job_plan.hpp"

#include <cstddef>
#include <string>

#include "base/counted.hpp"
#include "base/json.hpp"
#include "cli/commands/job/job_start.hpp"
#include "cli/ui/view.hpp"
#include "cli/ui/yaml.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/job_queue.hpp"
#include "state/record_text.hpp"

namespace fastgpu::cli {
namespace {

View view_of(const launcher::JobRecord& record) {
  View view;
  view.root = document("plan");
  view.root["job"] = parse_json<Json>(state::record_text_of(record), "the job's record");
  view.root["price_per_hour"] = 0;
  view.table.columns = {{"NODE"}, {"RANKS"}};
  for (const launcher::NodeRanks& ranks : record.placement) {
    const std::string last = std::to_string(ranks.first + ranks.count - 1);
    const std::string workers =
        ranks.workers > 0 ? " (" + counted(static_cast<std::size_t>(ranks.workers), "worker") + ")"
                          : "";
    view.table.rows.push_back(
        {ranks.node.value, std::to_string(ranks.first) + "-" + last + workers});
    view.names.push_back(ranks.node.value);
  }
  return view;
}

}  // namespace

int show_job_plan(Context& context, const RemoteTarget& target, const launcher::JobRecord& record,
                  const PlanParts& parts) {
  const std::optional<ArrayPlan>& array = parts.array;
  const launcher::JobTrial trial =
      engine_for(context, target.cluster, record)->try_start(record, context.cancel());
  View view = view_of(record);
  view.root["waits_for"] = turn_of_new(context, target, record).waits_for;
  if (array) view.root["array"] = {{"jobs", array->elements.size()}, {"limit", array->limit}};
  if (const auto& refused = trial.outcome) {
    view.root["exit_code"] = refused->exit_code;
    view.root["reason"] = refused->reason;
    context.ui().fail(refused->reason);
    if (context.ui().wants_document()) context.ui().show(view);
    return refused->exit_code;
  }
  const bool is_manifest = record.spec.engine == launcher::EngineKind::kubernetes;
  if (is_manifest)
    view.root["manifest"] = parse_json<Json>(trial.text, "the manifest");
  else if (!trial.text.empty())
    view.root["script"] = trial.text;
  if (trial.text.empty() || !context.ui().for_people())
    context.ui().show(view);
  else
    context.ui().data(is_manifest ? to_yaml(view.root["manifest"]) : trial.text);
  if (context.ui().for_people())
    context.ui().data(
        launcher::draw_placement(record.placement, parts.topologies, record.spec.per));
  if (!trial.note.empty()) context.ui().note(trial.note);
  if (array)
    context.ui().note("an array of " + counted(array->elements.size(), "job") + ", at most " +
                      std::to_string(array->limit) + " at once");
  context.ui().note("dry run: no job was started");
  return 0;
}

}  // namespace fastgpu::cli
