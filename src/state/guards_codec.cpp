// The JSON of guards, which is beside the provider's part of the request.
#include "base/json.hpp"
#include "state/part_json.hpp"

namespace fastgpu::state {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr const char* kGuardsKey = "guards";

void put_time(json& object, const char* key, const std::optional<seconds>& time) {
  if (time) object[key] = time->count();
}

std::optional<seconds> guard_time_in(const json& object, const char* key) {
  if (!object.contains(key)) return std::nullopt;
  return seconds(object.at(key).get<std::int64_t>());
}

/// Reads a cost. Older records have a bare number, which is in the currency of the price.
Money cost_in(const json& value, const json& spec) {
  if (value.is_object())
    return {value.at("amount").get<double>(),
            Currency::parse(value.at("currency").get<std::string>())};
  Money cost{value.get<double>(), kUsd};
  for (const json& place : spec.value("places", json::array()))
    if (place.contains("currency"))
      cost.currency = Currency::parse(place.at("currency").get<std::string>());
  return cost;
}

}  // namespace

Guards parse_guards(const std::string& text) try {
  if (text.empty()) return {};
  const json spec = parse_json(text, "the cluster's guards on record", ErrorKind::local);
  if (!spec.is_object() || !spec.contains(kGuardsKey)) return {};
  const json& object = spec.at(kGuardsKey);
  Guards guards{.max_life = guard_time_in(object, "max_life_seconds"),
                .unattended = guard_time_in(object, "unattended_seconds"),
                .idle_stop = guard_time_in(object, "idle_stop_seconds"),
                .idle_delete = guard_time_in(object, "idle_delete_seconds")};
  if (object.contains("max_cost")) guards.max_cost = cost_in(object.at("max_cost"), spec);
  return guards;
} catch (const json::exception& e) {
  throw Error(ErrorKind::local,
              std::string("the cluster's guards on record are broken: ") + e.what());
}

void put(json& object, const Guards& guards) {
  json part = json::object();
  put_time(part, "max_life_seconds", guards.max_life);
  put_time(part, "unattended_seconds", guards.unattended);
  put_time(part, "idle_stop_seconds", guards.idle_stop);
  put_time(part, "idle_delete_seconds", guards.idle_delete);
  if (guards.max_cost)
    part["max_cost"] = {{"amount", guards.max_cost->amount},
                        {"currency", guards.max_cost->currency.text()}};
  object.erase(kGuardsKey);
  if (!part.empty()) object[kGuardsKey] = std::move(part);
}

}  // namespace fastgpu::state
