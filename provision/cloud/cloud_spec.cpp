#include "provision/cloud/cloud_spec.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/names.hpp"
#include "provision/providers.hpp"

namespace fastgpu::provision::cloud {
namespace {

using nlohmann::json;

json json_of(const Money& money) {
  return {{"amount", money.amount}, {"currency", money.currency.text()}};
}

Money money_of(const json& object) {
  return {object.at("amount").get<double>(),
          Currency::parse(object.at("currency").get<std::string>())};
}

json to_json(const MachineRequest& request) {
  json object = {{"gpu", request.gpu},
                 {"gpu_memory_gib", request.gpu_memory_gib},
                 {"gpus", request.gpus},
                 {"type", request.type},
                 {"zone", request.zone},
                 {"nodes", request.nodes},
                 {"spot", request.market == Market::spot}};
  if (request.max_price) object["max_price"] = json_of(*request.max_price);
  if (request.data_disk.gib > 0) object["data_disk"] = to_text(request.data_disk);
  if (!request.reservation.empty()) object["reservation"] = request.reservation;
  return object;
}

/// Reads an amount. Older records have a bare number, which is in the currency of the price.
Money money_on_record(const json& value, Currency usual) {
  return value.is_number() ? Money{value.get<double>(), usual} : money_of(value);
}

MachineRequest request_of(const json& object, Currency usual) {
  MachineRequest request{
      .gpu = object.at("gpu").get<std::string>(),
      .gpu_memory_gib = object.at("gpu_memory_gib").get<int>(),
      .gpus = object.at("gpus").get<int>(),
      .type = object.at("type").get<std::string>(),
      .zone = object.at("zone").get<std::string>(),
      .nodes = object.at("nodes").get<int>(),
      .market = object.at("spot").get<bool>() ? Market::spot : Market::on_demand};
  if (object.contains("max_price"))
    request.max_price = money_on_record(object.at("max_price"), usual);
  if (object.contains("data_disk"))
    request.data_disk = parse_data_disk(object.at("data_disk").get<std::string>());
  request.reservation = object.value("reservation", std::string());
  return request;
}

json to_json(const Place& place) {
  json object = {{"region", place.site.region}, {"zone", place.site.zone}, {"type", place.type}};
  if (place.price_per_hour) {
    object["price_per_hour"] = place.price_per_hour->amount;
    object["currency"] = place.price_per_hour->currency.text();
  }
  if (!place.gpus.empty()) object["gpus"] = place.gpus;
  if (place.max_price) object["max_price"] = json_of(*place.max_price);
  if (place.rdma_interfaces > 0) object["rdma_interfaces"] = place.rdma_interfaces;
  if (!place.rdma_cards.empty()) object["rdma_cards"] = place.rdma_cards;
  return object;
}

Place place_of(const json& object) {
  Place place{
      .site = {object.at("region").get<std::string>(), object.at("zone").get<std::string>()},
      .type = object.at("type").get<std::string>()};
  if (object.contains("price_per_hour"))
    place.price_per_hour = Money{object.at("price_per_hour").get<double>(),
                                 Currency::parse(object.at("currency").get<std::string>())};
  place.gpus = object.value("gpus", std::string());
  if (object.contains("max_price")) place.max_price = money_of(object.at("max_price"));
  place.rdma_interfaces = object.value("rdma_interfaces", 0);
  place.rdma_cards = object.value("rdma_cards", std::vector<int>{});
  return place;
}

Currency usual_currency(const json& spec) {
  for (const json& place : spec.at("places"))
    if (place.contains("currency")) return Currency::parse(place.at("currency").get<std::string>());
  return kUsd;
}

std::vector<std::string> texts_of(const std::vector<IpRange>& ranges) {
  std::vector<std::string> texts;
  for (const IpRange& range : ranges)
    texts.push_back(range.text());
  return texts;
}

/// Reads address ranges. Older versions stored ranges unchecked, and the cloud refused the invalid
/// ones: these are left out, so that the cluster can still be changed and deleted.
std::vector<IpRange> ranges_on_record(const json& texts) {
  std::vector<IpRange> ranges;
  for (const json& text : texts) {
    try {
      ranges.push_back(IpRange::parse(text.get<std::string>()));
    } catch (const Error&) {
      continue;
    }
  }
  return ranges;
}

template <class Read>
auto read(const std::string& text, const char* what, Read read_object) {
  try {
    return read_object(parse_json(text, "it"));
  } catch (const json::exception& e) {
    throw Error(ErrorKind::local, std::string("the ") + what + " on record is broken: " + e.what());
  } catch (const Error& e) {
    throw Error(ErrorKind::local, std::string("the ") + what + " on record is broken: " + e.what());
  }
}

constexpr std::array kPublicAddresses = {std::pair(PublicAddress::all, "all"),
                                         std::pair(PublicAddress::head, "head"),
                                         std::pair(PublicAddress::none, "none")};

std::string shown(const std::string& value) {
  return value.empty() ? "any" : value;
}

std::string shown_size(int gib) {
  return gib == 0 ? "as large as the image's" : "of " + std::to_string(gib) + " GiB";
}

bool holds_all(const std::vector<std::string>& there, const std::vector<std::string>& wanted) {
  return std::ranges::all_of(
      wanted, [&](const std::string& one) { return std::ranges::find(there, one) != there.end(); });
}

std::string shown_disk(const CloudSpec& spec) {
  return spec.request.data_disk.gib == 0 ? "none" : to_text(spec.request.data_disk);
}

std::string shown(const std::optional<Money>& price) {
  return price ? to_string(*price) : "none";
}

}  // namespace

std::string_view to_string(PublicAddress which) noexcept {
  for (const auto& [value, word] : kPublicAddresses)
    if (value == which) return word;
  return "?";
}

PublicAddress parse_public_address(std::string_view text) {
  for (const auto& [value, word] : kPublicAddresses)
    if (text == word) return value;
  throw Error(ErrorKind::usage, "'" + printable(text) +
                                    "' is not a choice of public addresses: use all, head or none");
}

bool has_public_address(PublicAddress which, int index) noexcept {
  return which == PublicAddress::all || (which == PublicAddress::head && index == kHead);
}

std::string to_json_text(const CloudSpec& spec) {
  json object = {{"wish", to_json(spec.request)},
                 {"region", spec.region},
                 {"image", spec.image},
                 {"vpc", spec.vpc},
                 {"disk_gib", spec.disk_gib},
                 {"ssh_from", texts_of(spec.ssh_from)},
                 {"ssh_keys", spec.ssh_keys},
                 {"key_pairs", spec.key_pairs},
                 {"rdma", spec.rdma},
                 {"public_address", to_string(spec.public_address)},
                 {"places", json::array()}};
  for (const Place& place : spec.places)
    object["places"].push_back(to_json(place));
  for (const Mount& mount : spec.mounts)
    object["mounts"].push_back(to_text(mount));
  return with_guards(object.dump(), spec.guards);
}

CloudSpec parse_cloud_spec(const std::string& text) {
  return read(text, "cluster's wish", [&](const json& object) {
    CloudSpec spec{
        .request = request_of(object.at("wish"), usual_currency(object)),
        .region = object.at("region").get<std::string>(),
        .image = object.at("image").get<std::string>(),
        .vpc = object.at("vpc").get<std::string>(),
        .disk_gib = object.at("disk_gib").get<int>(),
        .ssh_from = ranges_on_record(object.at("ssh_from")),
        .ssh_keys = object.value("ssh_keys", std::vector<std::string>{}),
        .key_pairs = object.value("key_pairs", std::vector<std::string>{}),
        .rdma = object.at("rdma").get<bool>(),
        .public_address = parse_public_address(object.value("public_address", std::string("all")))};
    spec.guards = guards_of(text);
    for (const json& place : object.at("places"))
      spec.places.push_back(place_of(place));
    for (const json& mount : object.value("mounts", json::array()))
      spec.mounts.push_back(parse_mount(mount.get<std::string>()));
    return spec;
  });
}

Storage storage_of(const CloudSpec& spec, std::string_view cloud) {
  return {.has_data_disk = spec.request.data_disk.gib > 0,
          .mounts = spec.mounts,
          .nfs_options = std::string(provider_info(cloud).nfs_options)};
}

std::string difference(const CloudSpec& there, const CloudSpec& wanted) {
  const auto differ = [](const std::string& what, const std::string& one,
                         const std::string& other) {
    return one == other ? "" : "with " + what + " " + one + ", not " + other;
  };
  const auto gpus = [](const MachineRequest& request) {
    return request.gpus == 0 ? shown(request.gpu)
                             : shown(request.gpu) + ":" + std::to_string(request.gpus);
  };
  const auto market = [](const MachineRequest& request) {
    return std::string(request.market == Market::spot ? "spot" : "on-demand");
  };
  for (const std::string& found : {
           differ("GPUs", gpus(there.request), gpus(wanted.request)),
           differ("type", shown(there.request.type), shown(wanted.request.type)),
           differ("region", shown(there.region), shown(wanted.region)),
           differ("zone", shown(there.request.zone), shown(wanted.request.zone)),
           differ("market", market(there.request), market(wanted.request)),
           differ("maximum price", shown(there.request.max_price), shown(wanted.request.max_price)),
           differ("reservation", shown(there.request.reservation),
                  shown(wanted.request.reservation)),
           differ("image", shown(there.image), shown(wanted.image)),
           differ("network", shown(there.vpc), shown(wanted.vpc)),
           differ("public addresses", std::string(to_string(there.public_address)),
                  std::string(to_string(wanted.public_address))),
           differ("data disk", shown_disk(there), shown_disk(wanted)),
           differ("system disk", shown_size(there.disk_gib), shown_size(wanted.disk_gib)),
           differ("RDMA", there.rdma ? "on" : "off", wanted.rdma ? "on" : "off"),
       })
    if (!found.empty()) return found;
  for (const Mount& mount : wanted.mounts)
    if (std::ranges::find(there.mounts, mount) == there.mounts.end())
      return "without " + mount.source + " at " + mount.path + " (`fastgpu mount` adds it)";
  for (const IpRange& range : wanted.ssh_from)
    if (std::ranges::find(there.ssh_from, range) == there.ssh_from.end())
      return "and does not let " + range.text() + " log in (`fastgpu addip` adds it)";
  if (!holds_all(there.ssh_keys, wanted.ssh_keys)) return "without one of the keys of --ssh-key";
  if (!holds_all(there.key_pairs, wanted.key_pairs)) return "without one of --key-pair";
  return {};
}

std::string to_json_text(const CloudPlacement& placement) {
  return json{{"place", placement.place},
              {"image", placement.image},
              {"root_device", placement.root_device},
              {"parts", placement.parts},
              {"key_pairs", placement.key_pairs}}
      .dump();
}

CloudPlacement parse_cloud_placement(const std::string& text) {
  if (text.empty()) return {};
  return read(text, "cluster's place", [](const json& object) {
    return CloudPlacement{.place = object.at("place").get<std::size_t>(),
                          .image = object.at("image").get<std::string>(),
                          .root_device = object.value("root_device", std::string()),
                          .parts = object.at("parts").get<Parts>(),
                          .key_pairs = object.value("key_pairs", std::vector<std::string>{})};
  });
}

std::optional<Money> price_of(const state::Cluster& cluster) {
  const CloudSpec spec = parse_cloud_spec(cluster.spec_json);
  const std::size_t place = parse_cloud_placement(cluster.network).place;
  return place < spec.places.size() ? spec.places[place].price_per_hour : std::nullopt;
}

}  // namespace fastgpu::provision::cloud
