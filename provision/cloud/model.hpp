// The common vocabulary of all clouds: offers, requests, machines and their parts.
#pragma once

#include <chrono>
#include <cstdint>
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

using state::MachineRequest;
using state::Market;
using state::Parts;
using state::Site;

enum class Stock : std::uint8_t { unknown, none, low, enough };

struct InstanceType {
  std::string name{};  ///< The cloud's name for it: "p4d.24xlarge".
  std::string gpu{};   ///< "A100", "V100", ...; empty: none.
  int gpus = 0;
  int gpu_memory_gib = 0;  ///< The memory of one GPU; 0: unknown.
  int cores = 0;           ///< The number of virtual cores.
  double memory_gib = 0;
  double network_gbit = 0;  ///< The rate in Gbit a second; 0: unknown.
  int rdma_interfaces = 0;
  double rdma_gbit = 0;  ///< The rate of all of them together in Gbit a second; 0: unknown.
  /// The numbers of the network cards that have RDMA, if the cloud numbers its cards and these are
  /// not simply the first ones.
  std::vector<int> rdma_cards{};
  std::string architecture = "x86_64";
};

/// Machines that are available, according to the cloud's present answers.
struct Offer {
  std::string cloud{};
  Site site{};
  InstanceType type{};
  Market market = Market::on_demand;
  std::optional<Money> price_per_hour{};  ///< The price of one machine; absent: unknown.
  std::optional<Money> compared{};        ///< The price in the ranking's currency.
  Stock stock = Stock::unknown;
  std::optional<int> quota{};  ///< The number of further machines that the account may have.
};

struct Image {
  std::string id{};
  std::string name{};
  std::string architecture = "x86_64";
  std::string created{};  ///< ISO 8601, in the cloud's form.
  /// The device name of the system disk, if the cloud names disks by devices.
  std::string root_device{};
};

struct Quota {
  std::string name{};
  double limit = 0;
  std::optional<double> used{};
  std::string unit{};  ///< "vCPU", "instances"
};

/// The marks on every resource that we make.
struct OwnerTags {
  state::ClusterId cluster{};
  std::string cluster_name{};
  std::string owner{};  ///< The identity of the cluster's state directory.
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

/// One machine as the cloud lists it.
struct Machine {
  std::string id{};
  int index = -1;  ///< The node's index, from our marks; -1: unknown.
  MachineState state = MachineState::pending;
  MachineAddress address{};  ///< The public address; empty: none (yet).
  MachineAddress private_address{};
  Site site{};
  std::string type{};
  std::string launched{};  ///< ISO 8601 UTC.
  std::string failure{};   ///< The cloud's message about a failed machine.
  OwnerTags marks{};
  std::string vpc{};       ///< The machine's network.
  std::string host_key{};  ///< Equal to Tags::host_key; empty: unknown.
  /// Equal to Tags::taken; empty: its owner has made it.
  std::string taken{};
  /// Equal to Tags::launched_as; empty: its cluster never had another name.
  std::string launched_as{};
};

/// Tags that can be changed on existing machines. At most 43 letters, digits and "-_." each, the
/// least that any cloud accepts.
struct Tags {
  std::string cluster_name{};  ///< Equal to OwnerTags::cluster_name.
  /// The cluster's name at the launch of the machine. Some clouds begin the names of machines with
  /// it.
  std::string launched_as{};
  std::string owner{};  ///< Equal to OwnerTags::owner.
  std::string taken{};  ///< The time of the takeover by the owner, and the machine that did it.
  /// The digest of the host key that the machine shows, in URL-safe base64.
  std::string host_key{};
};

/// The requirements of the parts that a cluster's machines share.
struct NetworkRequest {
  OwnerTags marks{};
  Site site{};
  std::string vpc{};                ///< A network of the user, by name or id; empty: a new one.
  std::vector<IpRange> ssh_from{};  ///< The addresses that may reach port 22.
  std::string public_key{};         ///< "ssh-ed25519 AAAA..."
  /// Uses a placement group, if the cloud has them.
  bool close_together = false;
  /// The type of the machines in the network; empty: unknown.
  std::string type{};
  bool may_be_there = true;  ///< True if some of the parts may exist already.
  /// The parts on record for the cluster at that site. They belong to it, even if their names have
  /// changed.
  Parts known{};
};

/// The machines requested in one call.
struct Launch {
  OwnerTags marks{};
  Site site{};
  std::string type{};
  std::string image{};
  Parts network{};
  Market market = Market::on_demand;
  std::optional<Money> max_price{};  ///< The limit in the cloud's own currency.
  int disk_gib = 0;                  ///< 0: the size of the image.
  std::string root_device{};         ///< Equal to Image::root_device.
  DataDisk data_disk{};
  int first = 0;  ///< The index of the first node.
  int count = 1;
  int least = 1;        ///< The launch fails if fewer machines are available.
  std::string token{};  ///< 32 hexadecimal digits: a repeated call is the same call.
  Secret user_data{};
  std::optional<std::chrono::system_clock::time_point> release_at{};
  bool rdma = false;
  int rdma_interfaces = 0;        ///< The type's number, if `rdma` is requested; 0: unknown.
  std::vector<int> rdma_cards{};  ///< Equal to InstanceType::rdma_cards.
  bool has_public_address = true;
  std::string reservation{};  ///< Equal to MachineRequest::reservation.
};

/// A launch that is only tried. It needs no network.
struct Trial {
  Site site{};
  std::string type{};
  std::string image{};
  int count = 1;
};

/// A resource with our marks that is one of a cluster's parts.
struct CloudPart {
  std::string kind{};  ///< "vpc", "security-group", ...
  std::string id{};
  OwnerTags marks{};
};

}  // namespace fastgpu::provision::cloud
