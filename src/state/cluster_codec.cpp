// The text of a cluster: which part is in which column, and the errors of damaged parts.
#include <string_view>

#include "base/json.hpp"
#include "state/part_json.hpp"
#include "state/record_text.hpp"

namespace fastgpu::state {
namespace {

using nlohmann::json;

/// The providers that are not clouds.
constexpr std::string_view kLocalProvider = "local";
constexpr std::string_view kStaticProvider = "static";

ProviderSpec parse_provider_spec(std::string_view provider, const std::string& text) {
  if (provider == kLocalProvider) return parse_local_spec(text);
  if (provider == kStaticProvider) return parse_static_spec(text);
  return parse_cloud_spec(text);
}

Network parse_network(std::string_view provider, const std::string& text) {
  if (text.empty()) return {};
  if (provider == kLocalProvider || provider == kStaticProvider) return HostNetwork{text};
  return parse_cloud_placement(text);
}

/// Returns the part that `parse` returns, or the error that it throws, with the cluster's name.
template <class Part, class Parse>
Recorded<Part> read_part(const Cluster& cluster, Parse parse) {
  try {
    return Recorded<Part>::as_read(parse());
  } catch (const Error& e) {
    return Recorded<Part>::unreadable(e.during("cluster '" + cluster.name.value + "'"));
  }
}

std::string spec_text(const Cluster& cluster) {
  const std::string read = RecordText::of(cluster.spec_text);
  if (!cluster.provider_spec.is_new() && !cluster.guards.is_new() && !cluster.scheduler.is_new())
    return read;
  json object = try_parse_json(read.empty() ? "{}" : read);
  if (!object.is_object())
    throw Error(ErrorKind::local, "cluster '" + cluster.name.value +
                                      "': the cluster's specification on record is broken");
  if (cluster.provider_spec.is_new())
    std::visit([&](const auto& spec) { put(object, spec); }, *cluster.provider_spec);
  if (cluster.guards.is_new()) put(object, *cluster.guards);
  if (cluster.scheduler.is_new()) put(object, *cluster.scheduler);
  return text_of(object);
}

std::string text_of_new(const Network& network) {
  if (const auto* host = std::get_if<HostNetwork>(&network)) return host->range;
  const auto* placement = std::get_if<CloudPlacement>(&network);
  if (placement == nullptr) return {};
  json object;
  put(object, *placement);
  return text_of(object);
}

/// Returns the alternative of a part. `what` names it in the error for a part of another kind.
template <class Part, class Variant>
const Part& part_of(const Cluster& cluster, const Variant& parts, const char* what) {
  if (const Part* part = std::get_if<Part>(&parts)) return *part;
  throw Error(ErrorKind::internal, "cluster '" + cluster.name.value + "' of provider '" +
                                       cluster.provider + "' has no " + what);
}

}  // namespace

std::string text_of(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

ClusterText record_text_of(const Cluster& cluster) {
  return {.spec = spec_text(cluster),
          .network = cluster.network.is_new() ? text_of_new(*cluster.network)
                                              : RecordText::of(cluster.network_text)};
}

void read_record_text(Cluster& cluster, ClusterText text) {
  cluster.provider_spec = read_part<ProviderSpec>(
      cluster, [&] { return parse_provider_spec(cluster.provider, text.spec); });
  cluster.guards = read_part<Guards>(cluster, [&] { return parse_guards(text.spec); });
  cluster.scheduler = read_part<Scheduler>(cluster, [&] { return scheduler_in(text.spec); });
  cluster.network =
      read_part<Network>(cluster, [&] { return parse_network(cluster.provider, text.network); });
  RecordText::keep(cluster.spec_text, std::move(text.spec));
  RecordText::keep(cluster.network_text, std::move(text.network));
}

const LocalSpec& Cluster::local() const {
  return part_of<LocalSpec>(*this, *provider_spec, "local nodes");
}

const std::vector<StaticHost>& Cluster::hosts() const {
  return part_of<StaticSpec>(*this, *provider_spec, "list of hosts").hosts;
}

const CloudSpec& Cluster::cloud() const {
  return part_of<CloudSpec>(*this, *provider_spec, "request to a cloud");
}

const CloudPlacement& Cluster::placement() const {
  static const CloudPlacement unprepared;
  if (std::holds_alternative<std::monostate>(*network)) return unprepared;
  return part_of<CloudPlacement>(*this, *network, "place in a cloud");
}

}  // namespace fastgpu::state
