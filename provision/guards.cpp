#include "provision/guards.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/units.hpp"

namespace fastgpu::provision {
namespace {

using nlohmann::json;
using state::TimePoint;
using Hours = std::chrono::duration<double, std::ratio<3600>>;
using std::chrono::seconds;

constexpr const char* kKey = "guards";
/// The longest time that a time point can hold, with a margin.
constexpr Hours kLongest{24.0 * 366 * 100};

void put(json& object, const char* key, const std::optional<seconds>& time) {
  if (time) object[key] = time->count();
}

std::optional<seconds> guard_time_in(const json& object, const char* key) {
  if (!object.contains(key)) return std::nullopt;
  return seconds(object.at(key).get<std::int64_t>());
}

TimePoint later(TimePoint from, Hours time) {
  return from + std::chrono::duration_cast<seconds>(std::clamp(time, Hours{0}, kLongest));
}

void keep_nearest(std::optional<End>& nearest, TimePoint when, EndCause cause) {
  if (!nearest || when < nearest->when) nearest = End{when, cause};
}

void keep_cost_end(std::optional<End>& nearest, const Money& most, const Spending& spending,
                   TimePoint now) {
  if (spending.so_far.amount == 0 && spending.per_hour.amount == 0) return;
  const Money left = most - spending.so_far;
  if (left.amount <= 0) return keep_nearest(nearest, now, EndCause::max_cost);
  if (spending.per_hour.amount > 0)
    keep_nearest(nearest, later(now, Hours(left / spending.per_hour)), EndCause::max_cost);
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

Guards guards_of(const std::string& spec_json) try {
  if (spec_json.empty()) return {};
  const json spec = parse_json(spec_json, "the cluster's guards on record", ErrorKind::local);
  if (!spec.is_object() || !spec.contains(kKey)) return {};
  const json& object = spec.at(kKey);
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

std::string with_guards(const std::string& spec_json, const Guards& guards) {
  json spec = try_parse_json(spec_json);
  if (!spec.is_object())
    throw Error(ErrorKind::local, "the cluster's specification on record is broken");
  json object = json::object();
  put(object, "max_life_seconds", guards.max_life);
  put(object, "unattended_seconds", guards.unattended);
  put(object, "idle_stop_seconds", guards.idle_stop);
  put(object, "idle_delete_seconds", guards.idle_delete);
  if (guards.max_cost)
    object["max_cost"] = {{"amount", guards.max_cost->amount},
                          {"currency", guards.max_cost->currency.text()}};
  spec.erase(kKey);
  if (!object.empty()) spec[kKey] = std::move(object);
  return spec.dump(-1, ' ', false, json::error_handler_t::replace);
}

Spending spending_of(std::span<const state::Run> runs, const Money& price, TimePoint now) {
  Spending spending{.so_far = price * 0, .per_hour = price * 0};
  for (const state::Run& run : runs) {
    const Hours ran = run.ended.value_or(now) - run.began;
    spending.so_far = spending.so_far + price * std::max(0.0, ran.count());
    if (!run.ended) spending.per_hour = spending.per_hour + price;
  }
  return spending;
}

std::optional<TimePoint> stopped_since(std::span<const state::Run> runs) {
  std::optional<TimePoint> last;
  for (const state::Run& run : runs) {
    if (!run.ended) return std::nullopt;
    last = std::max(last.value_or(*run.ended), *run.ended);
  }
  return last;
}

std::optional<End> end_of(const Guards& guards, const Watched& cluster, TimePoint now) {
  std::optional<End> nearest;
  if (guards.max_life)
    keep_nearest(nearest, cluster.created + *guards.max_life, EndCause::max_life);
  if (guards.max_cost) keep_cost_end(nearest, *guards.max_cost, cluster.spending, now);
  if (guards.unattended && !cluster.stopped)
    keep_nearest(nearest, cluster.contact + *guards.unattended, EndCause::unattended);
  if (guards.idle_delete && cluster.stopped)
    keep_nearest(nearest, *cluster.stopped + *guards.idle_delete, EndCause::idle);
  return nearest;
}

std::optional<EndCause> ended_by(const Guards& guards, const Watched& cluster, bool nodes_act,
                                 TimePoint now) {
  Watched running = cluster;
  running.stopped.reset();
  const auto end = end_of(guards, running, now);
  if (end && end->when <= now) return end->cause;
  const bool may_be_idle = nodes_act && guards.idle_delete && !guards.idle_stop;
  return may_be_idle ? std::optional(EndCause::idle) : std::nullopt;
}

std::optional<TimePoint> first_end(const Guards& guards, TimePoint created, TimePoint start,
                                   const std::optional<Money>& price, int count) {
  Watched cluster{.created = created, .contact = start};
  if (price) cluster.spending = {.so_far = *price * 0, .per_hour = *price * count};
  const auto end = end_of(guards, cluster, start);
  if (!end) return std::nullopt;
  return end->when;
}

std::string reason_of(const Guards& guards, EndCause cause) {
  const auto text = [](const std::optional<seconds>& time) {
    return to_string(std::chrono::milliseconds(time.value_or(seconds(0))));
  };
  switch (cause) {
    case EndCause::max_life:
      return "its life of " + text(guards.max_life) + " is over";
    case EndCause::max_cost:
      return "its cost has reached " + to_string(guards.max_cost.value_or(Money{0, kUsd}));
    case EndCause::unattended:
      return "it was unattended for " + text(guards.unattended);
    case EndCause::idle:
      return "it has been idle for " + text(guards.idle_delete);
  }
  return "";
}

}  // namespace fastgpu::provision
