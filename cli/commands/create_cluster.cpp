#include <memory>

#include "base/units.hpp"
#include "cli/commands/cluster_options.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/views.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

struct Options : ClusterOptions {
  std::string provider;
  std::optional<int> nodes;
  std::optional<int> slots;
  std::string link_rate;
  bool dry_run = false;
  bool yes = false;
  bool detach = false;
  bool keep = false;
};

provision::ClusterSpec spec_of(const Options& options) {
  provision::ClusterSpec spec;
  spec.name = parse_cluster_name(options.name);
  if (!options.provider.empty()) spec.provider = options.provider;
  provision::check_provider_name(spec.provider);
  spec.nodes = options.nodes.value_or(spec.nodes);
  spec.slots = options.slots.value_or(spec.slots);
  Json own = Json::object();
  if (!options.link_rate.empty()) own["link_rate"] = to_string(parse_bit_rate(options.link_rate));
  spec.spec_json = own.dump();
  return spec;
}

View view_of(const provision::Plan& plan) {
  View view;
  view.root = document("plan");
  view.root["plan"] = Json(provision::to_json(plan));
  view.root["plan"].erase("schema");
  view.root["price_per_hour"] = 0;
  view.table.columns = {{"STEP"}};
  for (const std::string& step : provision::describe(plan)) {
    view.table.rows.push_back({step});
    view.names.push_back(step);
  }
  view.when_empty = "nothing to do: the cluster is as it is wanted";
  return view;
}

void show_hints(Ui& ui, const std::string& name) {
  if (!ui.for_people()) return;
  ui.note("next:");
  ui.hint("fastgpu ssh " + name);
  ui.hint("fastgpu run job --cluster " + name + " -np 2 -- hostname");
  ui.hint("fastgpu delete cluster " + name);
}

int run(Context& context, const Options& options) {
  const provision::ClusterSpec spec = spec_of(options);
  Ui& ui = context.ui();
  if (options.dry_run) {
    ui.show(view_of(provision::plan_cluster(context.tools(), spec)));
    ui.note("price: 0/h; nothing was done");
    return 0;
  }
  const std::string delete_command = "fastgpu delete cluster " + options.name;
  context.set_parting_words("cluster " + options.name +
                            " is half made; remove it with: " + delete_command + " --yes");
  provision::Tools tools = tools_for(context, options);
  NoWaiting no_waiting;
  const provision::Tools unhurried{tools.store,  tools.providers, tools.keys,
                                   no_waiting,   tools.events,    tools.clock,
                                   tools.cancel, tools.deadline,  tools.patience};
  const auto on_failure = options.keep ? provision::OnFailure::keep : provision::OnFailure::remove;
  const auto made = provision::create_cluster(options.detach ? unhurried : tools, spec, on_failure);
  context.set_parting_words("cluster " + options.name +
                            " stands; remove it with: " + delete_command);
  if (made.kind == provision::PlanKind::unchanged)
    ui.note("cluster " + options.name + " exists already as wanted");
  show_cluster(context, made.view);
  show_hints(ui, options.name);
  return 0;
}

}  // namespace

Action describe_create_cluster(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  describe_cluster_options(arguments, *options);
  arguments
      .text("--provider", "WHERE", "local (this machine) or static (hosts that you have)",
            options->provider)
      .values = Values::provider;
  arguments.count("--nodes", "N", "How many nodes (1)", options->nodes, 1, provision::kMostNodes)
      .letter = "-n";
  arguments.count("--slots", "S", "Ranks that a node takes (1)", options->slots, 1,
                  provision::kMostSlots);
  arguments.text("--link-rate", "RATE", "Speed of a local node's link, such as 1gbit",
                 options->link_rate);
  arguments.flag("--dry-run", "Show the plan and do nothing", options->dry_run);
  arguments.flag("--detach", "Do not wait until the nodes answer", options->detach);
  arguments.flag("--keep", "Leave what was made when something fails", options->keep);
  arguments.flag("--yes", "Do not ask", options->yes).letter = "-y";
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
