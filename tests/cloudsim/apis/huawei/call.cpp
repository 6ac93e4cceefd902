#include "cloudsim/apis/huawei/call.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "cloudsim/auth/digest.hpp"
#include "cloudsim/auth/signature.hpp"
#include "cloudsim/world/times.hpp"

namespace fastgpu::cloudsim::huawei {
namespace {

constexpr std::array kTables = {
    launch_actions,  server_actions,  flavor_actions, network_actions,  group_actions,
    address_actions, account_actions, image_actions,  key_pair_actions, one_server_actions};

/// Returns the values for the parts in braces; absent if the path does not match.
std::optional<std::map<std::string, std::string>> matched(std::string_view pattern,
                                                          const std::string& path) {
  const auto wanted = split(pattern, '/');
  const auto found = split(path, '/');
  if (wanted.size() != found.size()) return std::nullopt;
  std::map<std::string, std::string> parts;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].starts_with('{'))
      parts[wanted[i].substr(1, wanted[i].size() - 2)] = percent_decode(found[i], Plus::is_plus);
    else if (wanted[i] != found[i])
      return std::nullopt;
  }
  return parts;
}

bool has_member(const Request& request, std::string_view member) {
  if (member.empty()) return true;
  const Json body = Json::parse(request.body, nullptr, false);
  if (!body.is_object()) return false;
  return body.contains(member) || (body.contains("action") && body.at("action") == member);
}

/// Returns true if the host serves the service. Addresses (eip) are served by the host of the
/// network (vpc).
bool is_served(std::string_view host, std::string_view service) {
  return host == service || (host == "vpc" && service == "eip");
}

std::string missing_code(const std::string& kind) {
  if (kind == "vpc") return "VPC.0003";
  if (kind == "subnet") return "VPC.0202";
  if (kind == "group") return "VPC.0603";
  if (kind == "publicip") return "VPC.0504";
  return "Ecs.0614";
}

}  // namespace

Route route(std::string_view service, const Request& request) {
  for (const auto table : kTables)
    for (const HuaweiAction& action : table()) {
      if (!is_served(service, action.service) || request.method != action.method) continue;
      auto parts = matched(action.path, request.path);
      if (parts && has_member(request, action.member)) return {&action, std::move(*parts)};
    }
  return {};
}

std::string project_of(const std::string& region) {
  return sha256_hex("project of " + region).substr(0, 32);
}

std::string new_uuid(SimulatedWorld& world) {
  return world.new_id("", 8) + "-" + world.new_id("", 4) + "-" + world.new_id("4", 3) + "-" +
         world.new_id("a", 3) + "-" + world.new_id("", 12);
}

Resource& resource(const HuaweiCall& call, const std::string& kind, const std::string& id) {
  Resource* found = call.world.find(call.scope, kind, id);
  if (found == nullptr)
    throw Refusal(404, missing_code(kind), "The " + kind + " " + id + " does not exist.");
  return *found;
}

Instance& server(const HuaweiCall& call, const std::string& id) {
  Instance* found = call.world.find_instance(call.scope, id);
  if (found == nullptr) throw Refusal(404, "Ecs.0114", "Instance[" + id + "] could not be found.");
  return *found;
}

std::size_t asked_number(const HuaweiCall& call, const char* name, std::size_t otherwise,
                         std::size_t most) {
  const std::string text = call.asked(name);
  if (text.empty()) return otherwise;
  std::size_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || number > most)
    throw ProtocolViolation(
        400, "Ecs.0005",
        std::string(name) + " is no number up to " + std::to_string(most) + ": " + text);
  return number;
}

Json marked_page(const HuaweiCall& call, const char* name, const std::vector<Json>& items) {
  const std::size_t limit = asked_number(call, "limit", 1000, 2000);
  const std::string marker = call.asked("marker");
  auto begin = items.begin();
  if (!marker.empty()) {
    begin = std::ranges::find_if(items, [&](const Json& item) { return item.at("id") == marker; });
    if (begin != items.end()) ++begin;
  }
  Json page = Json::array();
  for (; begin != items.end() && page.size() < limit; ++begin)
    page.push_back(*begin);
  return {{name, page}};
}

std::string begin_job(const HuaweiCall& call, Goal goal, std::vector<SubJob> parts) {
  const std::string id = call.world.new_id("ff8080", 26);
  call.memory.jobs[{call.scope, id}] = {goal, call.world.now(), std::move(parts)};
  return id;
}

std::optional<Time> read_timer(const HuaweiCall& call, const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto given = parse_time(text);
  if (!given) throw ProtocolViolation(400, "Ecs.0005", "auto_terminate_time is no time: " + text);
  const Time time = std::chrono::floor<std::chrono::minutes>(*given);
  if (time < call.world.now() + std::chrono::minutes(29) ||
      time > call.world.now() + std::chrono::hours(3 * 366 * 24))
    throw Refusal(400, "Ecs.0005", "auto_terminate_time is 30 minutes to 3 years ahead.");
  return time;
}

}  // namespace fastgpu::cloudsim::huawei
