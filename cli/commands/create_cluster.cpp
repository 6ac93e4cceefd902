#include <algorithm>
#include <memory>
#include <set>

#include "base/units.hpp"
#include "cli/commands/cloud_options.hpp"
#include "cli/commands/cluster_options.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/guard_options.hpp"
#include "cli/commands/views.hpp"
#include "cli/consent.hpp"
#include "cli/guarding.hpp"
#include "cli/meeting.hpp"
#include "cli/record.hpp"
#include "cli/static_hosts.hpp"
#include "provision/cloud/trial.hpp"
#include "provision/first_contact.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

struct Options : ClusterOptions {
  CloudOptions cloud;
  GuardOptions guards;
  std::string provider;
  std::optional<int> nodes;
  std::optional<int> slots;
  std::string link_rate;
  std::string file;
  std::vector<std::string> set;
  bool accept_host_keys = false;
  bool dry_run = false;
  bool yes = false;
  bool detach = false;
  bool keep = false;
};

config::ClusterFile file_of(const Options& options) {
  config::Document document;
  if (!options.file.empty()) document = config::Document::read(options.file);
  for (const std::string& assignment : options.set)
    document.set(assignment);
  return config::read_cluster_file(document);
}

/// What the provider alone understands, as JSON.
std::string own_part(Context& context, const Options& options, const config::ClusterFile& file,
                     const std::string& provider) {
  if (provider == "static") {
    if (file.hosts.empty())
      throw Error(
          ErrorKind::usage,
          "create cluster: --provider static needs a file that lists hosts: -f cluster.yaml");
    const auto unknown = options.accept_host_keys ? UnknownHosts::accept : UnknownHosts::refuse;
    const auto folder = std::filesystem::absolute(options.file).parent_path();
    return provision::to_spec_json(ready_static_hosts(context, file, folder, unknown));
  }
  Json own = Json::object();
  std::optional<BitRate> rate = file.link_rate;
  if (!options.link_rate.empty()) rate = parse_bit_rate(options.link_rate);
  if (rate) own["link_rate_bits"] = rate->bits_per_second;
  return own.dump();
}

/// A wish, and for a cloud what there is to fulfil it.
struct Wanted {
  provision::ClusterSpec spec;
  GuardOptions guards{};
  std::optional<CloudPlan> plan{};
};

/// The guards that are wished, held against the price of the best place.
provision::Guards guards_of(const Wanted& wanted) {
  std::optional<provision::cloud::Money> price;
  if (wanted.plan) price = wanted.plan->spec.places.front().price_per_hour;
  const auto guards = with_options({}, wanted.guards, price);
  check_guards(guards, wanted.spec.provider, price);
  return guards;
}

void take_over_plan(Wanted& wanted) {
  wanted.spec.provider = wanted.plan->provider;
  wanted.plan->spec.guards = guards_of(wanted);
  wanted.spec.spec_json = provision::cloud::to_json_text(wanted.plan->spec);
}

/// Options of clouds for a place that is none would be forgotten without a word. `named`: by a flag
/// or the file.
void check_cloud_options(const CloudOptions& options, const std::string& named) {
  const std::string given = given_option(options);
  if (given.empty() || provision::is_cloud(named)) return;
  if (!named.empty())
    throw Error(ErrorKind::usage, "create cluster: " + given + " is for clouds, and provider '" +
                                      named + "' is none");
  if (!wants_a_cloud(options))
    throw Error(ErrorKind::usage, "create cluster: " + given +
                                      " is for clouds: say which machines, by --gpus A100:8 or "
                                      "--instance-type TYPE");
}

/// Refuses what another provider understands and `place` would not: it would be forgotten without a
/// word.
void check_fits(const Options& options, const config::ClusterFile& file, const std::string& place) {
  const auto refuse = [&](const std::string& what, const std::string& wanted) {
    throw Error(ErrorKind::usage, "create cluster: " + what + " for provider " + wanted +
                                      " alone, and this cluster would be of provider " + place);
  };
  if (!file.hosts.empty() && place != "static") refuse("'hosts' of the file are", "static");
  if (options.accept_host_keys && place != "static") refuse("--accept-host-keys is", "static");
  if ((!options.link_rate.empty() || file.link_rate) && place != "local")
    refuse("a link rate is", "local");
}

/// Who may log in where nobody says it: we, as we are seen from there.
std::vector<std::string> usual_ranges(Context& context, const provision::cloud::CloudSpec& spec) {
  if (spec.public_address == provision::cloud::PublicAddress::none)
    return {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"};
  return {context.clouds().own_address()};
}

void plan_cloud(Context& context, const CloudOptions& options, Wanted& wanted) {
  provision::ClusterSpec& spec = wanted.spec;
  spec.holding = holding_of(options);
  provision::check_spec(spec);  // Before anybody is asked.
  const bool is_named = provision::is_cloud(spec.provider);
  wanted.plan =
      plan_in_clouds(context, options, is_named ? spec.provider : "", spec.name.value, spec.nodes);
  if (wanted.plan->spec.ssh_from.empty())
    wanted.plan->spec.ssh_from = usual_ranges(context, wanted.plan->spec);
  take_over_plan(wanted);
}

/// Flags over the file.
Wanted wanted_of(Context& context, const Options& options) {
  const config::ClusterFile file = file_of(options);
  Wanted wanted;
  provision::ClusterSpec& spec = wanted.spec;
  const std::string name = options.name.empty() ? file.name.value_or("") : options.name;
  if (name.empty())
    throw Error(ErrorKind::usage,
                "create cluster: NAME is missing (see: fastgpu create cluster --help)");
  spec.name = parse_cluster_name(name);
  const config::Settings& settings = context.settings();
  const std::string usual = file.hosts.empty() ? settings.text("provider") : "static";
  const std::string named =
      !options.provider.empty() ? options.provider : file.provider.value_or("");
  spec.provider = named.empty() ? usual : named;
  provision::check_provider_name(spec.provider);
  const CloudOptions cloud = over_file(options.cloud, file.cloud);
  check_cloud_options(cloud, named);
  wanted.guards = over_file(options.guards, file.guards);
  const int usual_nodes = spec.provider == "static"
                              ? static_cast<int>(file.hosts.size())
                              : settings.integer("nodes", 1, provision::kMostNodes);
  spec.nodes = options.nodes ? *options.nodes : file.nodes.value_or(usual_nodes);
  spec.slots = options.slots
                   ? *options.slots
                   : file.slots.value_or(settings.integer("slots", 1, provision::kMostSlots));
  const config::Setting& user = settings.find("user");
  spec.user =
      user.origin == config::Origin::environment ? user.text : file.user.value_or(user.text);
  const bool is_of_cloud = wants_a_cloud(cloud) || provision::is_cloud(spec.provider);
  check_fits(options, file,
             is_of_cloud && !provision::is_cloud(spec.provider) ? "any cloud" : spec.provider);
  if (is_of_cloud)
    plan_cloud(context, cloud, wanted);
  else
    spec.spec_json =
        provision::with_guards(own_part(context, options, file, spec.provider), guards_of(wanted));
  return wanted;
}

/// What all nodes cost an hour at the best place, and at the dearest of the others; nothing where
/// they are ours.
std::string price_of(const Wanted& wanted) {
  if (!wanted.plan) return "0/h";
  const auto& places = wanted.plan->spec.places;
  const std::string best = price_text(places.front().price_per_hour, wanted.spec.nodes);
  const auto dearest = std::ranges::max_element(places, {}, [](const auto& place) {
    return place.price_per_hour ? place.price_per_hour->amount : 0;
  });
  const std::string most = price_text(dearest->price_per_hour, wanted.spec.nodes);
  return most == best ? best : best + " (at most " + most + " where that has no room)";
}

/// What each node is given once it is there, as steps of the plan.
std::vector<std::string> storage_steps(const provision::cloud::CloudSpec& spec) {
  std::vector<std::string> steps;
  if (const provision::DataDisk& disk = spec.wish.data_disk; disk.gib > 0)
    steps.push_back("give each node a data disk of " + std::to_string(disk.gib) + " GiB" +
                    (disk.type.empty() ? "" : " (" + disk.type + ")") + " at " +
                    std::string(provision::kDataPath));
  for (const auto& [source, path] : spec.mounts)
    steps.push_back("mount " + source + " at " + path + " on each node");
  return steps;
}

View view_of(const provision::Plan& plan, const Wanted& wanted) {
  View view;
  view.root = document("plan");
  view.root["plan"] = Json(provision::to_json(plan));
  view.root["plan"].erase("schema");
  view.root["price_per_hour"] = 0;
  if (wanted.plan) {
    const auto& price = wanted.plan->spec.places.front().price_per_hour;
    view.root["price_per_hour"] = price ? Json(price->amount * wanted.spec.nodes) : Json();
    view.root["offers"] = view_of_offers(wanted.plan->offers).root["offers"];
    view.root.update(storage_fields(wanted.plan->spec.wish.data_disk, wanted.plan->spec.mounts));
  }
  view.table.columns = {{"STEP"}};
  std::vector<std::string> steps = provision::describe(plan);
  if (wanted.plan && plan.kind != provision::PlanKind::unchanged)
    std::ranges::move(storage_steps(wanted.plan->spec), std::back_inserter(steps));
  for (const std::string& step : steps) {
    view.table.rows.push_back({step});
    view.names.push_back(step);
  }
  view.when_empty = "nothing to do: the cluster is as it is wanted";
  return view;
}

void show_next_steps(Ui& ui, const state::Cluster& cluster, std::span<const state::Node> nodes) {
  const std::string& name = cluster.name.value;
  int slots = 0;
  bool running = true;
  for (const state::Node& node : nodes) {
    slots += node.slots;
    running = running && node.state == state::NodeState::running;
  }
  std::vector<std::string> next;
  if (!running) next.push_back("fastgpu get nodes " + name);
  next.push_back("fastgpu ssh " + name);
  next.push_back("fastgpu run job --cluster " + name + " -np " + std::to_string(slots) +
                 " -- hostname");
  next.push_back("fastgpu delete cluster " + name);
  ui.next_steps(next);
}

/// Where one cloud has no room the next one is asked, as long as nothing of it is left.
provision::CreateResult create_somewhere(Context& context, const provision::Tools& tools,
                                         Wanted& wanted, const Options& options) {
  const auto on_failure = options.keep ? provision::OnFailure::keep : provision::OnFailure::remove;
  const auto until = options.detach ? provision::Until::accepted : provision::Until::nodes_answer;
  std::set<std::string> refused;
  for (;;) {
    try {
      return provision::create_cluster(tools, wanted.spec, on_failure, until);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::capacity || !wanted.plan ||
          context.store().find_cluster(wanted.spec.name))
        throw;
      refused.insert(wanted.spec.provider);
      auto elsewhere = plan_elsewhere(*wanted.plan, refused);
      if (!elsewhere) throw;
      wanted.plan = std::move(elsewhere);
      take_over_plan(wanted);
      context.ui().note(std::string(e.what()) + ": trying " + wanted.spec.provider + " for " +
                        price_of(wanted));
    }
  }
}

/// What is left to do, and who does it.
void tell_unmet(Context& context, const state::Cluster& cluster) {
  const std::size_t count = provision::unmet_nodes(context.store(), cluster.id).size();
  if (count == 0) return;
  context.ui().note("cluster " + cluster.name.value + ": " + std::to_string(count) +
                    (count == 1 ? " machine is" : " machines are") +
                    " on the way; the first command that uses the nodes waits for them and gives "
                    "them host keys of their own");
}

/// EC2 gives a machine with several network interfaces no public address.
void tell_idle_cards(Context& context, const provision::cloud::CloudSpec& spec) {
  const provision::cloud::Place& best = spec.places.front();
  if (!spec.rdma || best.rdma_interfaces < 2 ||
      spec.public_address == provision::cloud::PublicAddress::none)
    return;
  context.ui().note("nodes with a public address use one of their " +
                    std::to_string(best.rdma_interfaces) +
                    " network cards for RDMA: --public-address none has all of them");
}

void tell_unchanged(Ui& ui, const state::Cluster& cluster) {
  const std::string name = cluster.name.value;
  if (cluster.state == state::ClusterState::degraded)
    ui.warn("cluster " + name + " exists already, but is degraded: `fastgpu start cluster " + name +
            " --replace-lost` gives it what it lacks");
  else
    ui.note("cluster " + name + " exists already as wanted");
}

/// Whether the account may have what was planned.
void try_launch(Context& context, const Wanted& wanted) {
  provision::cloud::Cloud& cloud = context.cloud(wanted.spec.provider);
  const auto outcome = provision::cloud::try_best_place(cloud, wanted.plan->spec, wanted.spec.nodes,
                                                        context.cancel());
  if (outcome == provision::cloud::TrialOutcome::accepted)
    context.ui().note(wanted.spec.provider + " would launch it: it was asked, as a trial");
}

int run(Context& context, const Options& options) {
  Wanted wanted = wanted_of(context, options);
  const provision::ClusterSpec& spec = wanted.spec;
  const std::string& name = spec.name.value;
  Ui& ui = context.ui();
  if (options.dry_run) {
    const provision::Plan plan = provision::plan_cluster(context.tools(), spec);
    if (wanted.plan && ui.for_people()) ui.show(view_of_offers(wanted.plan->offers));
    ui.show(view_of(plan, wanted));
    ui.note("price: " + price_of(wanted) + "; nothing was done");
    if (wanted.plan && plan.kind == provision::PlanKind::create) try_launch(context, wanted);
    return 0;
  }
  if (wanted.plan && !context.store().find_cluster(spec.name) &&
      !consents(context, options.yes,
                "create " + std::to_string(spec.nodes) + " machines of " + spec.provider + " for " +
                    price_of(wanted) + "?"))
    return 1;
  if (wanted.plan && spec.provider == "aws") tell_idle_cards(context, wanted.plan->spec);
  const std::string delete_command = "fastgpu delete cluster " + name;
  context.set_parting_words("cluster " + name + " is half made; remove it with: " + delete_command +
                            " --yes");
  const provision::Tools tools = tools_for(context, options);
  auto made = create_somewhere(context, tools, wanted, options);
  context.set_parting_words("cluster " + name + " stands; remove it with: " + delete_command);
  if (made.kind == provision::PlanKind::unchanged)
    tell_unchanged(ui, made.view.cluster);
  else
    keep_guards(context, spec.name, Occasion::created,
                options.detach ? Reach::cloud_alone : Reach::nodes);
  if (options.detach)
    tell_unmet(context, made.view.cluster);
  else if (meet(context, tools, made.view.cluster))
    made.view.nodes = context.store().nodes(made.view.cluster.id);
  else if (made.kind != provision::PlanKind::unchanged)
    publish_record(context, spec.name);
  if (provision::guards_of(made.view.cluster.spec_json) != provision::guards_of(spec.spec_json))
    ui.warn("its guards stay as they were: `fastgpu guard cluster " + name + "` changes them");
  show_cluster(context, made.view);
  show_next_steps(ui, made.view.cluster, made.view.nodes);
  return 0;
}

}  // namespace

Action describe_create_cluster(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  describe_cluster_options(arguments, *options).required = false;
  shared(arguments.text("--provider", "WHERE",
                        "local (this machine), static (hosts that you have) or a cloud",
                        options->provider))
      .values = Values::provider;
  shared(arguments.count("--nodes", "N", "How many nodes (1)", options->nodes, 1,
                         provision::kMostNodes))
      .letter = "-n";
  shared(arguments.count("--slots", "S", "Ranks that a node takes (1)", options->slots, 1,
                         provision::kMostSlots));
  arguments.text("--link-rate", "RATE", "Speed of a local node's link, such as 1gbit",
                 options->link_rate);
  describe_cloud_options(arguments, options->cloud);
  describe_guard_options(arguments, options->guards);
  Argument& file = arguments.text("--file", "CLUSTER.YAML", "A cluster file; - is standard input",
                                  options->file);
  file.letter = "-f";
  file.values = Values::path;
  arguments.list("--set", "KEY=VALUE", "A field of the cluster file in another way", options->set);
  arguments.flag("--accept-host-keys", "Trust the keys that static hosts show now, and print them",
                 options->accept_host_keys);
  arguments.flag("--dry-run", "Show the plan and do nothing", options->dry_run);
  arguments.flag("--detach",
                 "Return once the machines are promised; the next command waits for them",
                 options->detach);
  arguments.flag("--keep", "Leave what was made when something fails", options->keep);
  describe_consent(arguments, options->yes);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
