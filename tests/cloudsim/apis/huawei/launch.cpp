#include <array>
#include <cstdio>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "cloudsim/apis/huawei/call.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/world/images.hpp"

namespace fastgpu::cloudsim::huawei {
namespace {

constexpr auto kTokenLifetime = std::chrono::hours(8);
constexpr std::size_t kMostUserData = 32768;
constexpr int kMostServers = 100;

bool is_uuid(const std::string& text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool hex = is_ascii_digit(text[i]) || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !hex) return false;
  }
  return true;
}

/// Returns the answer to the same request if it was sent before; otherwise null.
Json answered_before(const HuaweiCall& call, const std::string& token,
                     const std::string& fingerprint) {
  if (token.empty()) return {};
  if (!is_uuid(token)) throw ProtocolViolation(400, "Ecs.0123", "X-Client-Token is no UUID");
  const auto before = call.memory.tokens.find({call.scope, token});
  if (before == call.memory.tokens.end()) return {};
  if (call.world.now() - before->second.since > kTokenLifetime)
    throw Refusal(400, "Ecs.0124", "The X-Client-Token has expired");
  if (before->second.fingerprint != fingerprint)
    throw Refusal(400, "Ecs.0122", "The X-Client-Token came with other parameters");
  return before->second.answer;
}

const MachineType& type_of(const HuaweiCall& call, const std::string& name) {
  const MachineType* type = call.catalogue().type(name);
  if (type == nullptr) throw Refusal(400, "Ecs.0029", "The flavor " + name + " does not exist.");
  return *type;
}

void read_image(const HuaweiCall& call, const MachineType& type, const std::string& id) {
  const auto image = image_for(call.world, call.scope, id);
  if (!image) throw Refusal(400, "Ecs.0510", "The image " + id + " does not exist.");
  if (image->architecture != type.architecture)
    throw Refusal(400, "Ecs.0017", "The image " + id + " does not suit the flavor " + type.name);
}

void read_network(const HuaweiCall& call, const Json& server, Instance& like) {
  const Json& nics = server.at("nics");
  if (!nics.is_array() || nics.empty() || nics.size() > 12)
    throw ProtocolViolation(400, "Ecs.0005", "a server has 1 to 12 network cards");
  const Resource& vpc = resource(call, "vpc", server.at("vpcid"));
  const Resource& subnet = resource(call, "subnet", nics.front().at("subnet_id"));
  if (subnet.data.at("vpc") != vpc.id)
    throw Refusal(400, "Ecs.0011", "The subnet is not in the VPC.");
  like.vpc = vpc.id;
  like.subnet = subnet.id;
  for (const Json& group : server.value("security_groups", Json::array()))
    like.groups.push_back(resource(call, "group", group.at("id")).id);
}

void read_user_data(const Json& server, Instance& like) {
  try {
    like.user_data = base64_decode(server.value("user_data", ""));
  } catch (const std::invalid_argument&) {
    throw ProtocolViolation(400, "Ecs.0020", "user_data is no base64");
  }
  if (like.user_data.size() > kMostUserData)
    throw Refusal(400, "Ecs.0020", "user_data has more than 32 KB");
}

void read_market(const Json& extended, LaunchOrder& order) {
  const std::string charging = extended.value("chargingMode", "postPaid");
  if (charging != "postPaid") throw Refusal(400, "Ecs.0005", "only postPaid is sold here");
  if (!extended.contains("marketType")) return;
  if (extended.at("marketType") != "spot")
    throw ProtocolViolation(400, "Ecs.0005", "marketType is spot");
  order.like.market = Market::spot;
  if (!extended.contains("spotPrice")) return;
  try {
    order.highest_price = std::stod(extended.at("spotPrice").get<std::string>());
  } catch (const std::logic_error&) {
    throw ProtocolViolation(400, "Ecs.0005", "spotPrice is no number written as a string");
  }
}

Tags read_tags(const Json& list) {
  if (list.size() > 10) throw Refusal(400, "Ecs.0017", "a server has at most 10 tags");
  Tags tags;
  for (const Json& tag : list)
    tags[tag.at("key")] = tag.value("value", "");
  return tags;
}

/// Checks the quota before anything is created. Stock may still run out during the launch.
void check_quota(const HuaweiCall& call, const MachineType& type, const LaunchOrder& order) {
  const std::string group = quota_group(type, order.like.market);
  const auto limit = call.catalogue().quota(call.scope.region, group);
  if (limit && call.world.quota_used(call.scope, group) + order.maximum > *limit)
    throw ApiFailure(ApiFailureKind::quota, group, "the limit is " + std::to_string(int(*limit)));
  const auto addresses = call.catalogue().quota(call.scope.region, "addresses");
  const auto used = call.world.resources_of(call.scope, "publicip").size();
  if (addresses && order.like.extra.contains("publicip") &&
      double(used) + order.maximum > *addresses)
    throw Refusal(400, "Ecs.0013", "The number of elastic addresses exceeds the quota.");
}

/// Reads the data disks. A data disk survives its server unless the request says otherwise.
Json read_data_volumes(const Json& server) {
  constexpr int kLeast = 10;
  constexpr int kMost = 32768;
  Json volumes = server.value("data_volumes", Json::array());
  if (volumes.size() > 23) throw Refusal(400, "Ecs.0005", "a server has at most 23 data disks");
  constexpr std::array kTypes = {"SATA", "SAS", "SSD", "GPSSD", "ESSD", "GPSSD2", "ESSD2"};
  for (const Json& volume : volumes)
    if (!contains(kTypes, volume.at("volumetype")))
      throw Refusal(400, "Ecs.0005", "volumetype is none of disks");
  for (const Json& volume : volumes)
    if (volume.at("size") < kLeast || volume.at("size") > kMost)
      throw Refusal(400, "Ecs.0005", "a data disk has 10 to 32768 GB");
  return volumes;
}

LaunchOrder read_order(const HuaweiCall& call, const Json& server) {
  LaunchOrder order;
  order.scope = call.scope;
  Instance& like = order.like;
  like.zone = server.value("availability_zone", "");
  if (!call.catalogue().has_zone(call.scope.region, like.zone))
    throw Refusal(400, "Ecs.0005", "There is no availability zone " + like.zone);
  const MachineType& type = type_of(call, server.at("flavorRef"));
  like.type = type.name;
  like.name = server.at("name");
  if (like.name.empty() || like.name.size() > 59)
    throw ProtocolViolation(400, "Ecs.0005", "a name of several servers has 1 to 59 characters");
  like.image = server.at("imageRef");
  read_image(call, type, like.image);
  read_network(call, server, like);
  read_user_data(server, like);
  read_market(server.value("extendparam", Json::object()), order);
  like.tags = read_tags(server.value("server_tags", Json::array()));
  like.release_at = read_timer(call, server.value("auto_terminate_time", ""));
  like.extra["root_volume"] = server.at("root_volume");
  like.extra["data_volumes"] = read_data_volumes(server);
  if (server.contains("publicip")) like.extra["publicip"] = server.at("publicip");
  order.maximum = server.value("count", 1);
  if (order.maximum < 1 || order.maximum > kMostServers)
    throw Refusal(400, "Ecs.0913", "1 to 100 servers in a request");
  check_quota(call, type, order);
  return order;
}

/// Adds what a server uses.
void attach(const HuaweiCall& call, Instance& made) {
  SimulatedWorld& world = call.world;
  Resource& port = world.add(call.scope, "port", new_uuid(world));
  port.part_of = made.id;
  port.uses = {made.groups.begin(), made.groups.end()};
  port.uses.insert(made.subnet);
  Resource& disk = world.add(call.scope, "volume", new_uuid(world));
  disk.part_of = made.id;
  disk.data = made.extra.at("root_volume");
  made.attached = {port.id, disk.id};
  for (const Json& wanted : made.extra.at("data_volumes")) {
    Resource& data = world.add(call.scope, "volume", new_uuid(world));
    if (wanted.value("delete_on_termination", false)) data.part_of = made.id;
    data.data = wanted;
    made.attached.push_back(data.id);
  }
  if (!made.extra.contains("publicip")) return;
  const Json& choice = made.extra.at("publicip");
  Resource& address = world.add(call.scope, "publicip", new_uuid(world));
  if (made.public_address.empty()) made.public_address = world.new_public_address();
  address.data = {{"ip", made.public_address},
                  {"type", choice.at("eip").at("iptype")},
                  {"bandwidth", choice.at("eip").at("bandwidth")},
                  {"server", made.id}};
  if (choice.value("delete_on_termination", false)) address.part_of = made.id;
  made.attached.push_back(address.id);
}

std::string numbered(const std::string& name, int number) {
  char suffix[16];
  std::snprintf(suffix, sizeof suffix, "-%04d", number);
  return name + suffix;
}

/// Launches servers. If the stock is too small, parts of the job fail, but not the last ones.
Answered make(const HuaweiCall& call, const LaunchOrder& order) {
  const auto ids = call.world.launch(order, "", 32);
  std::vector<SubJob> parts;
  const int short_of = order.maximum - int(ids.size());
  for (int i = 0; i < short_of; ++i)
    parts.push_back({.server = {},
                     .code = "Ecs.0219",
                     .reason = "create server failed: No valid host was found. There are not "
                               "enough hosts available."});
  Json made = Json::array();
  for (const std::string& id : ids) {
    Instance& instance = call.world.instances.at(id);
    attach(call, instance);
    if (order.maximum > 1)
      instance.name = numbered(order.like.name, short_of + instance.launch_index + 1);
    parts.push_back({.server = id});
    made.push_back(id);
  }
  const std::string job = begin_job(call, Goal::created, std::move(parts));
  return {200, {{"job_id", job}, {"serverIds", made}}};
}

Answered create_servers(const HuaweiCall& call) {
  const std::string token = call.request.header("x-client-token").value_or("");
  const std::string fingerprint = sha256_hex(call.body.dump());
  if (Json before = answered_before(call, token, fingerprint); !before.is_null())
    return {200, std::move(before)};
  const LaunchOrder order = read_order(call, call.body.at("server"));
  if (call.body.value("dry_run", false)) return {202, {}};
  Answered answered = make(call, order);
  if (!token.empty())
    call.memory.tokens[{call.scope, token}] = {call.world.now(), fingerprint, answered.body};
  return answered;
}

constexpr HuaweiAction kLaunchActions[] = {
    {"ecs", "CreateServers", "POST", "/v1.1/{project_id}/cloudservers", "", create_servers},
    {"ecs", "CreatePostPaidServers", "POST", "/v1/{project_id}/cloudservers", "", create_servers},
};

}  // namespace

std::span<const HuaweiAction> launch_actions() {
  return kLaunchActions;
}

}  // namespace fastgpu::cloudsim::huawei
