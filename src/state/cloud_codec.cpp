// The JSON of a cluster in a cloud.
#include "base/json.hpp"
#include "base/names.hpp"
#include "state/part_json.hpp"

namespace fastgpu::state {
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
auto read_or_refuse(const std::string& text, const char* what, Read read_object) {
  try {
    return read_object(parse_json(text, "it"));
  } catch (const json::exception& e) {
    throw Error(ErrorKind::local, std::string("the ") + what + " on record is broken: " + e.what());
  } catch (const Error& e) {
    throw Error(ErrorKind::local, std::string("the ") + what + " on record is broken: " + e.what());
  }
}

}  // namespace

void put(json& object, const CloudSpec& spec) {
  object["wish"] = to_json(spec.request);
  object["region"] = spec.region;
  object["image"] = spec.image;
  object["vpc"] = spec.vpc;
  object["disk_gib"] = spec.disk_gib;
  object["ssh_from"] = texts_of(spec.ssh_from);
  object["ssh_keys"] = spec.ssh_keys;
  object["key_pairs"] = spec.key_pairs;
  object["rdma"] = spec.rdma;
  object["public_address"] = to_string(spec.public_address);
  object["places"] = json::array();
  for (const Place& place : spec.places)
    object["places"].push_back(to_json(place));
  object.erase("mounts");
  for (const Mount& mount : spec.mounts)
    object["mounts"].push_back(to_text(mount));
}

CloudSpec parse_cloud_spec(const std::string& text) {
  return read_or_refuse(text, "cluster's wish", [](const json& object) {
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
    for (const json& place : object.at("places"))
      spec.places.push_back(place_of(place));
    for (const json& mount : object.value("mounts", json::array()))
      spec.mounts.push_back(parse_mount(mount.get<std::string>()));
    return spec;
  });
}

void put(json& object, const CloudPlacement& placement) {
  object = {{"place", placement.place},
            {"image", placement.image},
            {"root_device", placement.root_device},
            {"parts", placement.parts},
            {"key_pairs", placement.key_pairs}};
}

CloudPlacement parse_cloud_placement(const std::string& text) {
  return read_or_refuse(text, "cluster's place", [](const json& object) {
    return CloudPlacement{.place = object.at("place").get<std::size_t>(),
                          .image = object.at("image").get<std::string>(),
                          .root_device = object.value("root_device", std::string()),
                          .parts = object.at("parts").get<Parts>(),
                          .key_pairs = object.value("key_pairs", std::vector<std::string>{})};
  });
}

}  // namespace fastgpu::state
