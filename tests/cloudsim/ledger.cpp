#include "cloudsim/ledger.hpp"

namespace fastgpu::cloudsim {

std::string_view state_name(State state) {
  switch (state) {
    case State::pending:
      return "pending";
    case State::running:
      return "running";
    case State::stopping:
      return "stopping";
    case State::stopped:
      return "stopped";
    case State::starting:
      return "starting";
    case State::shutting_down:
      return "shutting-down";
    case State::terminated:
      return "terminated";
    case State::failed:
      return "failed";
  }
  return "";
}

namespace {

Json scope_of(const Scope& scope) {
  return {{"vendor", scope.vendor}, {"account", scope.account}, {"region", scope.region}};
}

Json runs_of(const Instance& instance) {
  Json runs = Json::array();
  for (const Run& run : instance.runs)
    runs.push_back(
        {{"from", iso_time(run.from)}, {"to", run.to ? Json(iso_time(*run.to)) : Json()}});
  return runs;
}

Json entry(const SimulatedWorld& world, const Instance& instance) {
  Json out = scope_of(instance.scope);
  out.update({{"id", instance.id},
              {"name", instance.name},
              {"zone", instance.zone},
              {"type", instance.type},
              {"image", instance.image},
              {"market", instance.market == Market::spot ? "spot" : "on-demand"},
              {"state", state_name(instance.state)},
              {"alive", instance.state != State::terminated},
              {"token", instance.token},
              {"tags", instance.tags},
              {"subnet", instance.subnet},
              {"placement", instance.placement},
              {"private_address", instance.private_address},
              {"public_address", instance.public_address},
              {"price_per_hour", instance.price},
              {"cost", world.cost(instance)},
              {"runs", runs_of(instance)},
              {"release_at", instance.release_at ? Json(iso_time(*instance.release_at)) : Json()},
              {"terminate_on_shutdown", instance.terminate_on_shutdown},
              {"user_data_bytes", instance.user_data.size()},
              {"reason", instance.reason}});
  return out;
}

}  // namespace

Json books_of(const SimulatedWorld& world) {
  Json instances = Json::array();
  double cost = 0;
  int alive = 0;
  for (const auto& [id, instance] : world.instances) {
    instances.push_back(entry(world, instance));
    cost += world.cost(instance);
    if (instance.state != State::terminated) ++alive;
  }
  Json resources = Json::array();
  for (const auto& [id, resource] : world.resources) {
    Json out = scope_of(resource.scope);
    out.update({{"kind", resource.kind},
                {"id", id},
                {"name", resource.name},
                {"alive", !resource.deleted},
                {"part_of", resource.part_of},
                {"uses", resource.uses},
                {"tags", resource.tags},
                {"data", resource.data}});
    resources.push_back(std::move(out));
  }
  return {{"now", iso_time(world.now())},
          {"instances", instances},
          {"resources", resources},
          {"instances_alive", alive},
          {"cost", cost}};
}

Json calls_of(const Ledger& books) {
  Json counts = Json::object();
  Json calls = Json::array();
  for (const CallRecord& call : books.calls) {
    Json& count = counts[call.vendor][call.action];
    count = count.is_null() ? 1 : count.get<int>() + 1;
    calls.push_back({{"at", iso_time(call.at)},
                     {"vendor", call.vendor},
                     {"account", call.account},
                     {"region", call.region},
                     {"service", call.service},
                     {"action", call.action},
                     {"status", call.status},
                     {"code", call.code}});
  }
  return {{"total", books.calls.size()}, {"counts", counts}, {"calls", calls}};
}

}  // namespace fastgpu::cloudsim
