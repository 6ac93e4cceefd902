#include "agent/protocol/link_probe.hpp"

#include "agent/protocol/records.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::size_t kSecretLength = 32;

/// Returns a number of the records. Throws remote unless it is from `least` to `most`.
std::int64_t bounded(const Records& records, std::string_view key, std::int64_t least,
                     std::int64_t most) {
  const std::int64_t value = records.number(key);
  if (value < least || value > most)
    throw Error(ErrorKind::remote,
                "links: " + std::string(key) + " " + std::to_string(value) + " is out of range");
  return value;
}

constexpr std::int64_t kMostPort = 65'535;
constexpr std::int64_t kMostMilliseconds = 3'600'000;
constexpr std::int64_t kMostCount = 1'000'000;

void add_ports(Records& records, const std::vector<std::uint16_t>& ports) {
  for (const std::uint16_t port : ports) {
    Records entry;
    entry.add("number", port);
    records.add("port", entry);
  }
}

std::vector<std::uint16_t> ports_in(const Records& records) {
  std::vector<std::uint16_t> ports;
  for (const Records& entry : records.nested("port", "a port"))
    ports.push_back(static_cast<std::uint16_t>(bounded(entry, "number", 1, kMostPort)));
  if (ports.empty()) throw Error(ErrorKind::remote, "the order to probe links has no port");
  return ports;
}

}  // namespace

std::string to_text(const LinkPlan& plan) {
  Records records;
  records.add("secret", plan.secret);
  add_ports(records, plan.ports);
  for (const LinkTarget& target : plan.targets) {
    Records entry;
    entry.add("name", target.name);
    entry.add("address", target.address);
    add_ports(entry, target.ports);
    entry.add("slot", target.slot);
    records.add("target", entry);
  }
  records.add("incoming", plan.incoming);
  records.add("connect_timeout", plan.connect_timeout.count());
  records.add("slot", plan.slot.count());
  records.add("slots", plan.slots);
  records.add("starts_slots", plan.starts_slots ? 1 : 0);
  return records.text();
}

LinkPlan parse_link_plan(std::string_view text) {
  const Records records(text, "the order to probe links");
  LinkPlan plan{.secret = records.get("secret"), .ports = ports_in(records), .targets = {}};
  if (plan.secret.size() != kSecretLength)
    throw Error(ErrorKind::remote, "the order to probe links has no secret");
  for (const Records& entry : records.nested("target", "a link"))
    plan.targets.push_back({.name = entry.get("name"),
                            .address = entry.get("address"),
                            .ports = ports_in(entry),
                            .slot = static_cast<int>(bounded(entry, "slot", 0, kMostCount))});
  plan.incoming = static_cast<int>(bounded(records, "incoming", 0, kMostCount));
  plan.connect_timeout =
      std::chrono::milliseconds(bounded(records, "connect_timeout", 0, kMostMilliseconds));
  plan.slot = std::chrono::milliseconds(bounded(records, "slot", 0, kMostMilliseconds));
  plan.slots = static_cast<int>(bounded(records, "slots", 0, kMostCount));
  plan.starts_slots = records.number("starts_slots") != 0;
  return plan;
}

std::string to_text(const LinkAnswer& answer) {
  Records records;
  records.add("links", static_cast<std::int64_t>(answer.links.size()));
  for (const LinkInterface& own : answer.interfaces) {
    Records entry;
    entry.add("name", own.name);
    entry.add("address", own.address);
    entry.add("mtu", own.mtu);
    entry.add("megabits", own.megabits);
    records.add("interface", entry);
  }
  for (const LinkResult& link : answer.links) {
    Records entry;
    entry.add("name", link.name);
    entry.add("failure", link.failure);
    entry.add("round_trip", link.round_trip.count());
    entry.add("sent", link.sent);
    entry.add("received", link.received);
    records.add("link", entry);
  }
  return records.text();
}

LinkAnswer parse_link_answer(std::string_view text) {
  const Records records(text, "the answer about links");
  LinkAnswer answer;
  for (const Records& entry : records.nested("interface", "an interface"))
    answer.interfaces.push_back(
        {.name = entry.get("name"),
         .address = entry.get("address"),
         .mtu = static_cast<int>(bounded(entry, "mtu", 0, INT32_MAX)),
         .megabits = static_cast<int>(bounded(entry, "megabits", 0, INT32_MAX))});
  for (const Records& entry : records.nested("link", "a link"))
    answer.links.push_back(
        {.name = entry.get("name"),
         .failure = entry.get("failure"),
         .round_trip = std::chrono::nanoseconds(bounded(entry, "round_trip", 0, INT64_MAX)),
         .sent = bounded(entry, "sent", 0, INT64_MAX),
         .received = bounded(entry, "received", 0, INT64_MAX)});
  if (static_cast<std::int64_t>(answer.links.size()) != records.number("links"))
    throw Error(ErrorKind::remote, "the answer about links is incomplete");
  return answer;
}

}  // namespace fastgpu::agent
