// What there is in a cloud, in words that all four share.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fastgpu::cloudsim {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::system_clock;
using Time = std::chrono::time_point<Clock, std::chrono::milliseconds>;
using Tags = std::map<std::string, std::string>;

/// Whose view of which region.
struct Scope {
  std::string vendor;
  std::string account;
  std::string region;
  friend auto operator<=>(const Scope&, const Scope&) = default;
};

struct Account {
  std::string vendor, name, access_key, secret_key;
  std::string token;                ///< Needed beside the key where not empty.
  bool expired = false;             ///< Of a temporary key.
  std::vector<std::string> denied;  ///< Actions that it has no right to.
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

/// A type in a zone. Stock below zero is endless.
struct Offer {
  double price = 0, spot_price = 0;  ///< An hour.
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
  failed,  ///< It never came up.
};

enum class Market : std::uint8_t { on_demand, spot };

/// What a machine ran, for the bill.
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
  std::vector<std::string> attached{};  ///< Resources: interfaces, disks.
  std::string private_address, public_address;
  std::string subnet_address;  ///< What it holds of its subnet, even where it is reached elsewhere.
  Tags tags;
  Time created, visible;
  State state = State::pending;
  std::optional<Time> due{};         ///< When the state under way is left.
  std::optional<Time> release_at{};  ///< The cloud's own timer.
  std::optional<Time> reclaim_at{};  ///< Spot: told of, and taken away then.
  std::optional<Time> powers_off{};  ///< The instance's own timer, out of its user data.
  std::optional<Time> ended{};
  double price = 0;
  std::vector<Run> runs;
  bool holds_stock = true;
  bool boot_fails = false;
  bool failed_boot_ends = false;  ///< A failed boot terminates it, as AWS does.
  bool terminate_on_shutdown = false;
  Json extra = Json::object();  ///< What only the vendor's face reads.
};

/// Whatever else carries an id: networks, keys, addresses, disks, placement groups.
struct Resource {
  Scope scope;
  std::string kind, id, name;
  std::string part_of{};         ///< Goes when that goes, and does not stand in its way.
  std::set<std::string> uses{};  ///< What cannot go before this has.
  Json data = Json::object();
  Tags tags{};
  Time created{};
  std::optional<Time> deleted{};
};

}  // namespace fastgpu::cloudsim
