#include "provision/guards.hpp"

#include <algorithm>

#include "base/units.hpp"

namespace fastgpu::provision {
namespace {

using state::TimePoint;
using Hours = std::chrono::duration<double, std::ratio<3600>>;
using std::chrono::seconds;

/// The longest time that a time point can hold, with a margin.
constexpr Hours kLongest{24.0 * 366 * 100};

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

}  // namespace

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
