#include "agent/protocol/guard.hpp"

#include "agent/protocol/records.hpp"

namespace fastgpu::agent {
namespace {

std::string first_of(const std::vector<std::string>& texts) {
  return texts.empty() ? "" : texts.front();
}

}  // namespace

std::string to_text(const GuardOrder& order) {
  Records records;
  records.add("ends", order.ends);
  records.add("unattended", order.unattended.count());
  records.add("idle", order.idle.count());
  records.add("period", order.period.count());
  for (const std::string& word : order.off)
    records.add("off", word);
  if (!order.cloud.empty()) records.add("cloud", order.cloud);
  if (!order.metadata.empty()) records.add("metadata", order.metadata);
  return records.text();
}

GuardOrder parse_guard_order(std::string_view text) {
  const Records records(text, "guard order");
  return {.ends = records.number("ends"),
          .unattended = std::chrono::seconds(records.number("unattended")),
          .idle = std::chrono::seconds(records.number("idle")),
          .off = records.all("off"),
          .period = std::chrono::milliseconds(records.number("period")),
          .cloud = first_of(records.all("cloud")),
          .metadata = first_of(records.all("metadata"))};
}

std::string to_text(const NodeWatch& watch) {
  Records records;
  records.add("looked", watch.looked);
  records.add("idle_since", watch.idle_since);
  records.add("powers_off", watch.powers_off);
  records.add("because", watch.because);
  records.add("acts", watch.acts ? 1 : 0);
  records.add("taken_back", watch.taken_back);
  records.add("at_risk", watch.at_risk);
  if (watch.sent) records.add("sent", *watch.sent);
  for (const Waking& waking : watch.wakings) {
    Records one;
    one.add("kind", waking.kind);
    one.add("what", waking.what);
    one.add("since", waking.since);
    one.add("last", waking.last);
    records.add("waking", one);
  }
  return records.text();
}

NodeWatch parse_node_watch(std::string_view text) {
  const Records records(text, "state of a node");
  NodeWatch watch{.looked = records.number("looked"),
                  .idle_since = records.number("idle_since"),
                  .powers_off = records.number("powers_off"),
                  .because = records.get("because"),
                  .acts = records.number("acts") != 0,
                  .taken_back = records.number("taken_back"),
                  .at_risk = records.number("at_risk")};
  for (const Records& waking : records.nested("waking", "what keeps a node awake"))
    watch.wakings.push_back({.kind = waking.get("kind"),
                             .what = waking.get("what"),
                             .since = waking.number("since"),
                             .last = waking.number("last")});
  if (!records.all("sent").empty()) watch.sent = records.number("sent");
  return watch;
}

}  // namespace fastgpu::agent
