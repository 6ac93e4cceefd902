// A common model of all four clouds.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace fastgpu::cloudsim {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::system_clock;
using Time = std::chrono::time_point<Clock, std::chrono::milliseconds>;
using Tags = std::map<std::string, std::string>;

/// The account and region that a call is about.
struct Scope {
  std::string vendor;
  std::string account;
  std::string region;
  friend auto operator<=>(const Scope&, const Scope&) = default;
};

struct Account {
  std::string vendor, name, access_key, secret_key;
  std::string token;                ///< Required in addition to the key if it is not empty.
  bool expired = false;             ///< True for a temporary key that has expired.
  std::vector<std::string> denied;  ///< Actions that the account may not call.
};

struct MachineType {
  std::string name;
  std::string family;  ///< The quota group.
  std::string architecture = "x86_64";
  int vcpus = 0, memory_mb = 0;
  int gpus = 0, gpu_memory_mb = 0;
  std::string gpu, gpu_maker;
  int network_cards = 1, rdma_interfaces = 0;
  double gbps = 0;
};

/// The offer of a type in a zone. Stock below zero is unlimited.
struct Offer {
  double price = 0, spot_price = 0;  ///< Prices per hour.
  std::int64_t stock = -1, spot_stock = -1;
};

struct Image {
  std::string id, name, owner, created, parameter;
  std::string architecture = "x86_64";
  int disk_gb = 8;
};

enum class State : std::uint8_t {
  pending,
  running,
  stopping,
  stopped,
  starting,
  shutting_down,
  terminated,
  failed,  ///< It has never booted.
};

enum class Market : std::uint8_t { on_demand, spot };

/// A time during which a machine ran, for its cost.
struct Run {
  Time from;
  std::optional<Time> to{};
};

struct Instance {
  Scope scope;
  std::string id, name, zone, type, image, key, placement, subnet, vpc, user_data;
  std::string reservation, token, reason;
  int launch_index = 0;
  Market market = Market::on_demand;
  std::vector<std::string> groups;
  std::vector<std::string> attached{};  ///< The ids of its resources: interfaces, disks.
  std::string private_address, public_address;
  std::string subnet_address;  ///< Its address in the subnet, even if it is reached at another one.
  Tags tags;
  Time created, visible, known;
  State state = State::pending;
  std::optional<Time> due{};         ///< When the present transition ends.
  std::optional<Time> release_at{};  ///< The time of the cloud's own timer.
  std::optional<Time> reclaim_at{};  ///< When a spot instance is taken back, after a notice.
  std::optional<Time> powers_off{};  ///< When the instance powers itself off, by its user data.
  std::optional<Time> ended{};
  double price = 0;
  std::vector<Run> runs;
  bool holds_stock = true;
  bool boot_fails = false;
  bool failed_boot_ends = false;  ///< A failed boot terminates it, as in AWS.
  bool terminate_on_shutdown = false;
  Json extra = Json::object();  ///< Data that only the vendor's api uses.
};

/// Any other object with an id: networks, keys, addresses, disks, placement groups.
struct Resource {
  Scope scope;
  std::string kind, id, name;
  /// The resource of which it is a part. It is removed with that resource and does not prevent its
  /// removal.
  std::string part_of{};
  std::set<std::string> uses{};  ///< The resources that it uses. They cannot be removed before it.
  Json data = Json::object();
  Tags tags{};
  Time created{};
  std::optional<Time> deleted{};
};

}  // namespace fastgpu::cloudsim
