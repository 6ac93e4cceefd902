#include "cloudsim/scenario.hpp"

#include <fstream>

#include "base/error.hpp"

namespace fastgpu::cloudsim {
namespace {

Account account_of(const std::string& vendor, const Json& json) {
  return Account{.vendor = vendor,
                 .name = json.at("name"),
                 .access_key = json.at("access_key"),
                 .secret_key = json.at("secret_key"),
                 .token = json.value("token", ""),
                 .expired = json.value("expired", false),
                 .denied = json.value("denied", std::vector<std::string>())};
}

MachineType type_of(const Json& json) {
  return MachineType{.name = json.at("name"),
                     .family = json.at("family"),
                     .architecture = json.value("architecture", "x86_64"),
                     .vcpus = json.at("vcpus"),
                     .memory_mb = int(json.at("memory_gb").get<double>() * 1024),
                     .gpus = json.value("gpus", 0),
                     .gpu_memory_mb = json.value("gpu_memory_gb", 0) * 1024,
                     .gpu = json.value("gpu", ""),
                     .gpu_maker = json.value("gpu_maker", json.contains("gpu") ? "NVIDIA" : ""),
                     .network_cards = json.value("network_cards", 1),
                     .rdma_interfaces = json.value("rdma_interfaces", 0),
                     .gbps = json.value("gbps", 1.0)};
}

Image image_of(const Json& json) {
  return Image{.id = json.at("id"),
               .name = json.at("name"),
               .owner = json.value("owner", ""),
               .created = json.value("created", "2026-06-01T00:00:00Z"),
               .parameter = json.value("parameter", ""),
               .architecture = json.value("architecture", "x86_64"),
               .disk_gb = json.value("disk_gb", 8)};
}

void add_offer(Catalogue& catalogue, const Json& json) {
  const Offer offer{.price = json.at("price"),
                    .spot_price = json.value("spot_price", 0.0),
                    .stock = json.value("stock", -1),
                    .spot_stock = json.value("spot_stock", json.contains("spot_price") ? -1 : 0)};
  for (const auto& [region, zones] : catalogue.regions)
    for (const std::string& zone : zones) {
      const bool here = !json.contains("zones") || [&] {
        for (const Json& wanted : json.at("zones"))
          if (wanted == zone) return true;
        return false;
      }();
      if (here) catalogue.offers[{zone, json.at("type").get<std::string>()}] = offer;
    }
}

Catalogue catalogue_of(const Json& json) {
  Catalogue out;
  out.currency = json.value("currency", "USD");
  out.disk_price = json.value("disk_price", 0.0);
  out.quota_counts_vcpus = json.value("quota_counts_vcpus", true);
  out.lists_terminated = json.value("lists_terminated", false);
  for (const auto& [region, zones] : json.at("regions").items())
    out.regions[region] = zones.get<std::vector<std::string>>();
  for (const Json& type : json.at("types")) {
    const MachineType made = type_of(type);
    out.types[made.name] = made;
  }
  for (const Json& offer : json.at("offers"))
    add_offer(out, offer);
  for (const Json& image : json.at("images"))
    out.images.push_back(image_of(image));
  for (const Json& quota : json.value("quotas", Json::array()))
    out.quotas[{quota.value("region", "*"), quota.at("group").get<std::string>()}] =
        quota.at("limit");
  const Json rates = json.value("rates", Json::object());
  for (const auto& [action, rate] : rates.items())
    out.rates[action] = Rate{rate.at(0), rate.at(1)};
  return out;
}

}  // namespace

void load_scenario(SimulatedWorld& world, const std::filesystem::path& file) try {
  std::ifstream in(file);
  const Json json = Json::parse(in);
  for (const auto& [vendor, body] : json.at("vendors").items()) {
    world.catalogues[vendor] = catalogue_of(body);
    for (const Json& account : body.at("accounts"))
      world.accounts.push_back(account_of(vendor, account));
  }
  const Json settings = json.value("settings", Json::object());
  world.settings.listing_delay =
      milliseconds(settings.value("listing_delay_ms", world.settings.listing_delay.count()));
} catch (const nlohmann::json::exception& e) {
  throw Error(ErrorKind::usage, file.string() + ": " + e.what());
}

}  // namespace fastgpu::cloudsim
