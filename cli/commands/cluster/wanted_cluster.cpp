#include "cli/commands/cluster/wanted_cluster.hpp"

#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/host_names.hpp"
#include "base/ip.hpp"
#include "base/units.hpp"
#include "cli/commands/cluster/money_options.hpp"
#include "cli/commands/cluster/place_checks.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/static_hosts.hpp"
#include "config/document.hpp"
#include "config/settings.hpp"
#include "provision/cluster_file/cluster_file.hpp"
#include "provision/cluster_file/host_file.hpp"
#include "provision/guards.hpp"
#include "provision/providers.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the cluster described by --file, --hostfile and --set. --file may also be a hostfile.
provision::ClusterFile cluster_file_of(const CreateClusterOptions& options) {
  config::Document document;
  const std::string text = options.file.empty() ? "" : config::read_text(options.file);
  const bool is_host_file = provision::is_host_file(text);
  if (!text.empty() && !is_host_file) document = config::Document::of_file(text, options.file);
  for (const std::string& assignment : options.set)
    document.set(assignment);
  provision::ClusterFile file = provision::read_cluster_file(document);
  if (options.host_file.empty() && !is_host_file) return file;
  if (!file.hosts.empty() || (is_host_file && !options.host_file.empty()))
    throw Error(ErrorKind::usage, "create cluster: both --hostfile and --file list hosts");
  const std::string& path = is_host_file ? options.file : options.host_file;
  const std::string source = path == "-" ? "standard input" : path;
  file.hosts = provision::read_host_file(is_host_file ? text : config::read_text(path), source,
                                         file.host_defaults);
  return file;
}

/// Returns the part of the spec that only the provider understands, outside clouds.
state::ProviderSpec own_part(Context& context, const CreateClusterOptions& options,
                             const provision::ClusterFile& file, const std::string& provider) {
  if (provision::provider_info(provider).needs_hosts_file) {
    if (file.hosts.empty())
      throw Error(ErrorKind::usage,
                  "create cluster: --provider " + provider +
                      " needs a file that lists hosts: -f cluster.yaml or -f hosts.txt");
    const auto unknown = options.accept_host_keys ? UnknownHosts::accept : UnknownHosts::refuse;
    const auto& list = options.file.empty() ? options.host_file : options.file;
    const auto folder = std::filesystem::absolute(list).parent_path();
    return state::StaticSpec{ready_static_hosts(context, file, folder, unknown)};
  }
  state::LocalSpec own{.link_rate = file.link_rate};
  if (!options.link_rate.empty()) own.link_rate = parse_bit_rate(options.link_rate);
  return own;
}

/// Returns the wanted guards, checked against the price at the best place.
provision::Guards guards_of(const WantedCluster& wanted) {
  const auto price = price_of_a_node(wanted);
  const auto guards = with_options({}, wanted.guards, price, wanted.rates);
  const bool is_spot =
      wanted.plan && wanted.plan->spec.request.market == provision::cloud::Market::spot;
  check_guards(guards, wanted.spec.provider, price, is_spot);
  return guards;
}

/// Throws ErrorKind::usage for options that are for another provider than `place`. Otherwise they
/// would be ignored silently.
void check_fits(const CreateClusterOptions& options, const provision::ClusterFile& file,
                const std::string& place) {
  const auto refuse = [&](const std::string& what, const std::string& wanted) {
    throw Error(ErrorKind::usage, "create cluster: " + what + " for provider " + wanted +
                                      " only, but this cluster would be of provider " + place);
  };
  const provision::ProviderInfo info = provision::provider_info(place);
  const bool takes_hosts = info.needs_hosts_file;
  if (!file.hosts.empty() && !takes_hosts) refuse("'hosts' of the file are", "static");
  const provision::HostEntry& defaults = file.host_defaults;
  if (!takes_hosts && (defaults.port || !defaults.identity.empty() || !defaults.jumps.empty()))
    refuse("'port', 'identity' and 'jump' of the file are", "static");
  if (options.accept_host_keys && !takes_hosts) refuse("--accept-host-keys is", "static");
  if ((!options.link_rate.empty() || file.link_rate) && !info.has_local_nodes)
    refuse("a link rate is", "local");
}

/// Returns the ranges that may log in by default: this machine's public address, or the private
/// networks if the nodes have no public address.
std::vector<IpRange> usual_ranges(Context& context, const provision::cloud::CloudSpec& spec) {
  if (spec.public_address == provision::cloud::PublicAddress::none)
    return parse_ssh_from({"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"});
  return {context.clouds().own_address()};
}

void plan_cloud(Context& context, const CloudOptions& options, WantedCluster& wanted) {
  provision::ClusterSpec& spec = wanted.spec;
  spec.holding = gang_policy_of(options, wanted.rates);
  wanted.hold_cost = spec.holding.most_cost;
  provision::check_spec(spec);  // Throws before any cloud is asked.
  const bool is_named = provision::is_cloud(spec.provider);
  wanted.plan =
      plan_in_clouds(context, options, is_named ? spec.provider : "", spec.name.value, spec.nodes);
  if (wanted.plan->spec.ssh_from.empty())
    wanted.plan->spec.ssh_from = usual_ranges(context, wanted.plan->spec);
  take_over_plan(wanted);
}

state::Scheduler scheduler_of(const CreateClusterOptions& options,
                              const provision::ClusterFile& file) {
  const auto scheduler = options.scheduler.empty() ? file.scheduler.value_or(state::Scheduler::none)
                                                   : state::parse_scheduler(options.scheduler);
  if (scheduler != state::Scheduler::none && options.detach)
    throw Error(ErrorKind::usage,
                "create cluster: --scheduler is set up once the nodes answer: leave out --detach");
  return scheduler;
}

}  // namespace

std::optional<Money> price_of_a_node(const WantedCluster& wanted) {
  return wanted.plan ? wanted.plan->spec.places.front().price_per_hour : std::nullopt;
}

void take_over_plan(WantedCluster& wanted) {
  wanted.spec.provider = wanted.plan->provider;
  wanted.spec.holding.most_cost = wanted.hold_cost;
  if (const auto price = price_of_a_node(wanted); price && wanted.hold_cost)
    wanted.spec.holding.most_cost = wanted.rates.in(price->currency, *wanted.hold_cost);
  wanted.spec.guards = guards_of(wanted);
  wanted.spec.provider_spec = wanted.plan->spec;
}

WantedCluster wanted_of(Context& context, const CreateClusterOptions& options) {
  const provision::ClusterFile file = cluster_file_of(options);
  const CloudOptions cloud = over_file(options.cloud, file.cloud);
  WantedCluster wanted{.spec = {}, .rates = rates_for(context, cloud.exchange_rates)};
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
  check_cloud_options(cloud, named);
  check_one_place({.provider_flag = options.provider,
                   .cloud_flags = options.cloud.clouds,
                   .provider = named,
                   .clouds = cloud.clouds});
  wanted.guards = over_file(options.guards, file.guards);
  const int usual_nodes = provision::provider_info(spec.provider).needs_hosts_file
                              ? static_cast<int>(file.hosts.size())
                              : settings.integer("nodes", 1, provision::kMostNodes);
  spec.nodes = options.nodes ? *options.nodes : file.nodes.value_or(usual_nodes);
  spec.slots = options.slots
                   ? *options.slots
                   : file.slots.value_or(settings.integer("slots", 1, provision::kMostSlots));
  const config::Setting& user = settings.find("user");
  spec.user =
      user.origin == config::Origin::environment ? user.text : file.user.value_or(user.text);
  spec.scheduler = scheduler_of(options, file);
  const bool is_in_cloud = wants_a_cloud(cloud) || provision::is_cloud(spec.provider);
  check_fits(options, file,
             is_in_cloud && !provision::is_cloud(spec.provider) ? "any cloud" : spec.provider);
  if (is_in_cloud) {
    plan_cloud(context, cloud, wanted);
  } else {
    spec.provider_spec = own_part(context, options, file, spec.provider);
    spec.guards = guards_of(wanted);
  }
  return wanted;
}

}  // namespace fastgpu::cli
