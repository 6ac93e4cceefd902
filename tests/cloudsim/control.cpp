#include "cloudsim/control.hpp"

#include "base/error.hpp"

namespace fastgpu::cloudsim {
namespace {

using Handler = Json (*)(Simulation&, const Json&);

Json books(Simulation& simulation, const Json&) {
  return books_of(simulation.world);
}

Json calls(Simulation& simulation, const Json&) {
  return calls_of(simulation.books);
}

Json violations(Simulation& simulation, const Json&) {
  return {{"violations", simulation.books.violations}};
}

Json set_faults(Simulation& simulation, const Json& body) {
  simulation.faults.clear();
  simulation.faults.add(body);
  return {{"faults", body.size()}};
}

Catalogue& catalogue_of(Simulation& simulation, const Json& body) {
  return simulation.world.catalogues.at(body.at("vendor").get<std::string>());
}

/// Calls `change` for the offers that the body selects by zone and type; for all offers without a
/// selection.
template <class Change>
Json change_offers(Simulation& simulation, const Json& body, Change change) {
  int changed = 0;
  for (auto& [key, offer] : catalogue_of(simulation, body).offers) {
    if (body.contains("zone") && body.at("zone") != key.first) continue;
    if (body.contains("type") && body.at("type") != key.second) continue;
    change(offer);
    ++changed;
  }
  if (changed == 0) throw Error(ErrorKind::not_found, "no such offer: " + body.dump());
  return {{"changed", changed}};
}

Json set_stock(Simulation& simulation, const Json& body) {
  return change_offers(simulation, body, [&](Offer& offer) {
    offer.stock = body.value("stock", offer.stock);
    offer.spot_stock = body.value("spot_stock", offer.spot_stock);
  });
}

Json set_prices(Simulation& simulation, const Json& body) {
  return change_offers(simulation, body, [&](Offer& offer) {
    offer.price = body.value("price", offer.price);
    offer.spot_price = body.value("spot_price", offer.spot_price);
  });
}

Json set_quota(Simulation& simulation, const Json& body) {
  const std::string region = body.value("region", "*");
  catalogue_of(simulation, body).quotas[{region, body.at("group").get<std::string>()}] =
      body.at("limit");
  return Json::object();
}

Json set_rate(Simulation& simulation, const Json& body) {
  catalogue_of(simulation, body).rates[body.at("action").get<std::string>()] =
      Rate{body.at("burst"), body.at("per_second")};
  simulation.throttle = Throttle();
  return Json::object();
}

Json set_clock(Simulation& simulation, const Json& body) {
  simulation.world.settings.skew = std::chrono::seconds(body.at("skew_seconds").get<int>());
  return Json::object();
}

Json advance(Simulation& simulation, const Json& body) {
  simulation.world.advance(milliseconds(std::int64_t(body.at("seconds").get<double>() * 1000)));
  simulation.world.settle();
  return {{"now", iso_time(simulation.world.now())}};
}

Json change_settings(Simulation& simulation, const Json& body) {
  Settings& settings = simulation.world.settings;
  const auto take = [&](const char* name, milliseconds& target) {
    target = milliseconds(body.value(name, target.count()));
  };
  take("boot_ms", settings.boot);
  take("stop_ms", settings.stop);
  take("terminate_ms", settings.terminate);
  take("listing_delay_ms", settings.listing_delay);
  take("known_delay_ms", settings.known_delay);
  take("image_ms", settings.image);
  take("latency_ms", simulation.latency);
  return Json::object();
}

Instance& instance_of(Simulation& simulation, const Json& body) {
  const std::string id = body.at("instance");
  const auto found = simulation.world.instances.find(id);
  if (found == simulation.world.instances.end())
    throw Error(ErrorKind::not_found, "there is no instance '" + id + "'");
  return found->second;
}

Json reclaim(Simulation& simulation, const Json& body) {
  SimulatedWorld& world = simulation.world;
  const std::int64_t usual = world.settings.reclaim_notice.count();
  world.reclaim(instance_of(simulation, body), milliseconds(body.value("notice_ms", usual)));
  return Json::object();
}

Json rebalance(Simulation& simulation, const Json& body) {
  instance_of(simulation, body).extra["at_risk"] = iso_time(simulation.world.now());
  return Json::object();
}

Json metadata_address(Simulation& simulation, const Json&) {
  return {{"address", simulation.metadata}};
}

Json shutdown(Simulation& simulation, const Json& body) {
  simulation.world.power_off(instance_of(simulation, body));
  return Json::object();
}

Json set_boot_failure(Simulation& simulation, const Json& body) {
  simulation.world.boot_failure =
      BootFailure{body.value("count", 1), body.value("reason", "boot failed")};
  return Json::object();
}

Json set_image_failures(Simulation& simulation, const Json& body) {
  simulation.world.image_failures = body.value("count", 1);
  return Json::object();
}

/// Adds a key pair as if the customer had created it on the vendor's web page.
Json add_key_pair(Simulation& simulation, const Json& body) {
  SimulatedWorld& world = simulation.world;
  const std::string material = body.at("public");
  Resource& made = world.add({body.at("vendor"), body.at("account"), body.at("region")}, "key",
                             world.new_id("key-", 17));
  made.name = body.at("name");
  made.data = {{"type", material.substr(4, material.find(' ') - 4)},
               {"fingerprint", "00:00"},
               {"public", material}};
  return {{"id", made.id}};
}

Json reset_calls(Simulation& simulation, const Json&) {
  simulation.books = Ledger{};
  return Json::object();
}

Handler handler_of(const std::string& what) {
  static const std::map<std::string, Handler> handlers = {
      {"GET books", books},
      {"GET calls", calls},
      {"GET violations", violations},
      {"GET metadata", metadata_address},
      {"POST faults", set_faults},
      {"POST stock", set_stock},
      {"POST prices", set_prices},
      {"POST quota", set_quota},
      {"POST rate", set_rate},
      {"POST clock", set_clock},
      {"POST advance", advance},
      {"POST settings", change_settings},
      {"POST reclaim", reclaim},
      {"POST rebalance", rebalance},
      {"POST shutdown", shutdown},
      {"POST boot_failure", set_boot_failure},
      {"POST image_failures", set_image_failures},
      {"POST key_pair", add_key_pair},
      {"POST reset_calls", reset_calls},
  };
  const auto found = handlers.find(what);
  if (found == handlers.end())
    throw Error(ErrorKind::not_found, "the control page has no '" + what + "'");
  return found->second;
}

}  // namespace

Reply control(Simulation& simulation, const Request& request) try {
  const Handler handler =
      handler_of(request.method + " " + request.path.substr(kControlPath.size()));
  const Json body = request.body.empty() ? Json::object() : Json::parse(request.body);
  const std::scoped_lock lock(simulation.lock);
  simulation.world.settle();
  return Reply{200, "application/json", handler(simulation, body).dump(1) + "\n"};
} catch (const std::exception& e) {
  return Reply{400, "application/json", Json{{"error", e.what()}}.dump() + "\n"};
}

}  // namespace fastgpu::cloudsim
