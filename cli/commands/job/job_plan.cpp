#include "cli/commands/job/job_plan.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/join.hpp"
#include "base/json.hpp"
#include "cli/commands/job/job_start.hpp"
#include "cli/ui/view.hpp"
#include "cli/ui/yaml.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/job_queue.hpp"
#include "launcher/binding.hpp"
#include "launcher/held_parts.hpp"
#include "state/record_text.hpp"

namespace fastgpu::cli {
namespace {

View view_of(launcher::JobRecord record) {
  record.choice.reset();  // Shown is where it would begin.
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

/// Returns the parts of the job's nodes that other jobs hold.
std::vector<launcher::HeldParts> held_by_others(Context& context, const RemoteTarget& target,
                                                const launcher::JobRecord& record) {
  auto held = held_now(context, target.cluster.id);
  std::erase_if(held, [&](const launcher::HeldParts& parts) {
    return !contains(record.placement, parts.node, &launcher::NodeRanks::node);
  });
  return held;
}

Json held_document(const std::vector<launcher::HeldParts>& held) {
  Json list = Json::array();
  for (const launcher::HeldParts& parts : held)
    list.push_back({{"job", parts.job},
                    {"node", parts.node.value},
                    {"cpus", launcher::index_list(parts.cpus)},
                    {"gpus", parts.gpus}});
  return list;
}

/// Draws the nodes of a job with --per, its ranks, and what other jobs hold there.
void show_drawing(Context& context, const RemoteTarget& target, const NewJob& planned,
                  const std::vector<launcher::HeldParts>& held) {
  if (target.topologies.empty()) return;
  auto drawn = launcher::drawn_ranks(planned.record.placement);
  for (const launcher::HeldParts& parts : held)
    drawn.push_back({"job " + parts.job, parts.node, parts.cpus, parts.gpus});
  context.ui().data(launcher::draw_placement(planned.record.placement, target.topologies, drawn));
}

/// Notes the jobs that the job would wait for, and what may differ from the plan after that.
void show_wait(Context& context, const RemoteTarget& target, const NewJob& planned) {
  if (planned.turn.waits_for.empty()) return;
  std::string later;
  if (!target.topologies.empty())
    later = ", and its ranks get their cores and GPUs when it begins";
  else if (planned.record.choice)
    later = ", and begins on the nodes that become free first";
  context.ui().note("the job would wait for " + words_for(planned.turn) + later);
}

}  // namespace

int show_job_plan(Context& context, const RemoteTarget& target, const launcher::JobRecord& record,
                  const std::optional<ArrayPlan>& array) {
  const launcher::JobTrial trial =
      engine_for(context, target.cluster, record)->try_start(record, context.cancel());
  const NewJob planned = new_job(context, target, record);
  const std::vector<launcher::HeldParts> held = held_by_others(context, target, record);
  View view = view_of(planned.record);
  view.root["waits_for"] = planned.turn.waits_for;
  if (record.spec.per != launcher::RankUnit::none) view.root["held"] = held_document(held);
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
  if (context.ui().for_people()) show_drawing(context, target, planned, held);
  show_wait(context, target, planned);
  if (!trial.note.empty()) context.ui().note(trial.note);
  if (array)
    context.ui().note("an array of " + counted(array->elements.size(), "job") + ", at most " +
                      std::to_string(array->limit) + " at once");
  context.ui().note("dry run: no job was started");
  return 0;
}

}  // namespace fastgpu::cli
