// Clouds in one vocabulary: what is offered where, what is wished, what is there.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.hpp"
#include "base/money.hpp"
#include "base/secret.hpp"
#include "provision/cloud/machine_address.hpp"
#include "provision/storage.hpp"
#include "state/model.hpp"

namespace fastgpu::provision::cloud {

enum class Market : std::uint8_t { on_demand, spot };
enum class Stock : std::uint8_t { unknown, none, low, enough };

struct InstanceType {
  std::string name{};  ///< "p4d.24xlarge", as the cloud writes it.
  std::string gpu{};   ///< "A100", "V100", ...; empty: none.
  int gpus = 0;
  int gpu_memory_gib = 0;  ///< Of one GPU; 0 where it is not told.
  int cores = 0;           ///< Virtual ones.
  double memory_gib = 0;
  double network_gbit = 0;  ///< A second; 0 where it is not told.
  int rdma_interfaces = 0;
  /// The network cards that have RDMA, where the cloud numbers them and the first ones are not
  /// they.
  std::vector<int> rdma_cards{};
  std::string architecture = "x86_64";
};

/// Where machines stand that can be in one placement.
struct Site {
  std::string region{};
  std::string zone{};
  friend bool operator==(const Site&, const Site&) = default;
};

/// Machines that can be had, as a cloud says it now.
struct Offer {
  std::string cloud{};
  Site site{};
  InstanceType type{};
  Market market = Market::on_demand;
  std::optional<Money> price_per_hour{};  ///< Of one machine; absent where it is not told.
  std::optional<Money> compared{};        ///< The same in the currency of the ranking.
  Stock stock = Stock::unknown;
  std::optional<int> quota{};  ///< How many more machines the account may have.
};

/// Which offers are of interest.
struct Wish {
  std::string gpu{};       ///< "A100"; empty: any, and none.
  int gpu_memory_gib = 0;  ///< Of one GPU, at least.
  int gpus = 0;            ///< A node, at least; 0: any number, and none.
  std::string type{};      ///< Exactly this type; empty: any.
  std::string zone{};      ///< Exactly there; empty: anywhere.
  int nodes = 1;
  Market market = Market::on_demand;
  std::optional<Money> max_price{};  ///< An hour, of one node.
  DataDisk data_disk{};              ///< Of each node.
  bool rdma = false;                 ///< Only types that have it.
  std::string reservation{};         ///< Out of this one, by its id; empty: out of none.
};

struct Image {
  std::string id{};
  std::string name{};
  std::string architecture = "x86_64";
  std::string created{};      ///< ISO 8601, as the cloud writes it.
  std::string root_device{};  ///< Where the cloud names disks by devices: the system disk's.
};

struct Quota {
  std::string name{};
  double limit = 0;
  std::optional<double> used{};
  std::string unit{};  ///< "vCPU", "instances"
};

/// What everything that we make is marked with.
struct Marks {
  state::ClusterId cluster{};
  std::string cluster_name{};
  std::string owner{};  ///< The state directory that knows the cluster.
};

enum class MachineState : std::uint8_t {
  pending,
  running,
  stopping,
  stopped,
  ending,
  gone,
  failed
};

/// One instance as the cloud lists it.
struct Machine {
  std::string id{};
  int index = -1;  ///< The node's, from our marks; -1: not known.
  MachineState state = MachineState::pending;
  MachineAddress address{};  ///< Public; empty: none (yet).
  MachineAddress private_address{};
  Site site{};
  std::string type{};
  std::string launched{};  ///< ISO 8601 UTC.
  std::string failure{};   ///< Of a failed one: the cloud's words.
  Marks marks{};
  std::string vpc{};       ///< The network that it stands in.
  std::string host_key{};  ///< As Tags::host_key; empty: not told.
  std::string taken{};     ///< As Tags::taken; empty: its owner has made it.
  /// As Tags::launched_as; empty: its cluster has had one name only.
  std::string launched_as{};
};

/// What can be written on machines that are there. Letters, digits and "-_." alone, at most 43 of
/// them: the least that a cloud takes.
struct Tags {
  std::string cluster_name{};  ///< As Marks::cluster_name.
  /// What the cluster was called when the machine was launched, which some clouds' names of
  /// machines begin with.
  std::string launched_as{};
  std::string owner{};     ///< As Marks::owner.
  std::string taken{};     ///< When and by which machine the owner has taken it over.
  std::string host_key{};  ///< The digest of the host key that it shows, in URL-safe base64.
};

/// The ids of the parts that a cloud's machines share, by the cloud's own words for them
/// ("vpc", "subnet", ...).
using Parts = std::map<std::string, std::string>;

/// What parts are made for.
struct NetworkWish {
  Marks marks{};
  Site site{};
  std::string vpc{};                ///< One of the user's own by name or id; empty: ours.
  std::vector<IpRange> ssh_from{};  ///< May reach port 22.
  std::string public_key{};         ///< "ssh-ed25519 AAAA..."
  bool close_together = false;      ///< In a placement group, where the cloud has them.
  std::string type{};               ///< Of the machines that come into it; empty: not known.
  bool may_be_there = true;         ///< Some of it, made before.
  /// Those that are on record for the cluster at that site: they are its own whatever they are
  /// called by now.
  Parts known{};
};

/// Instances wanted of one call.
struct Launch {
  Marks marks{};
  Site site{};
  std::string type{};
  std::string image{};
  Parts network{};
  Market market = Market::on_demand;
  std::optional<Money> max_price{};  ///< In the cloud's own currency.
  int disk_gib = 0;                  ///< 0: the image's own.
  std::string root_device{};         ///< As Image::root_device.
  DataDisk data_disk{};
  int first = 0;  ///< Index of the first node.
  int count = 1;
  int least = 1;        ///< The launch fails where fewer machines are to be had.
  std::string token{};  ///< 32 hexadecimal digits: a repeated call is the same call.
  Secret user_data{};
  std::optional<std::chrono::system_clock::time_point> release_at{};
  bool rdma = false;
  int rdma_interfaces = 0;        ///< Of the type, where `rdma` is wished; 0: not told.
  std::vector<int> rdma_cards{};  ///< As InstanceType::rdma_cards.
  bool has_public_address = true;
  std::string reservation{};  ///< As Wish::reservation.
};

/// A launch that is only tried. It needs no network of its own.
struct Trial {
  Site site{};
  std::string type{};
  std::string image{};
  int count = 1;
};

/// Something with our marks that a cluster's parts consist of.
struct Part {
  std::string kind{};  ///< "vpc", "security-group", ...
  std::string id{};
  Marks marks{};
};

}  // namespace fastgpu::provision::cloud
