// The cloud's part of a cluster: the request, the planned places, and the present placement.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.hpp"
#include "base/money.hpp"
#include "state/storage.hpp"

namespace fastgpu::state {

enum class Market : std::uint8_t { on_demand, spot };

/// The location of machines that can be in one placement group.
struct Site {
  std::string region{};
  std::string zone{};
  friend bool operator==(const Site&, const Site&) = default;
};

/// The requirements that an offer must meet.
struct MachineRequest {
  std::string gpu{};       ///< "A100"; empty: any GPU, or none.
  int gpu_memory_gib = 0;  ///< The least memory of one GPU.
  int gpus = 0;            ///< The least number in a node; 0: any number, or none.
  std::string type{};      ///< The exact type; empty: any.
  std::string zone{};      ///< The exact zone; empty: any.
  int nodes = 1;
  Market market = Market::on_demand;
  std::optional<Money> max_price{};  ///< The maximum price of one node for an hour.
  DataDisk data_disk{};              ///< The data disk of each node.
  bool rdma = false;                 ///< Accepts only types with RDMA.
  std::string reservation{};         ///< The id of the reservation to use; empty: none.
};

/// One offer on which the cluster may be made.
struct Place {
  Site site{};
  std::string type{};
  std::optional<Money> price_per_hour{};  ///< The price of one machine when it was planned.
  int rdma_interfaces = 0;                ///< The interfaces of the type; 0: none, or unknown.
  /// The numbers of the network cards that have RDMA, if the cloud numbers its cards and these are
  /// not simply the first ones.
  std::vector<int> rdma_cards{};
  std::string gpus{};                ///< The GPUs of the type, for people: "8xA100-80G".
  std::optional<Money> max_price{};  ///< MachineRequest::max_price in the currency of this place.
};

/// The nodes that have an address in the public internet.
enum class PublicAddress : std::uint8_t {
  all,
  head,  ///< Only the first node: the others are reached through it.
  none,  ///< All users of the cluster are in its network.
};

/// Returns "all", "head", "none".
std::string_view to_string(PublicAddress which) noexcept;
/// Throws ErrorKind::usage for any other word.
PublicAddress parse_public_address(std::string_view word);

struct CloudSpec {
  MachineRequest request{};
  std::string region{};  ///< The requested region; empty: any.
  std::string image{};   ///< A name or id; empty: the newest image that suits.
  std::string vpc{};     ///< The user's own network; empty: the cluster gets its own.
  int disk_gib = 0;
  std::vector<IpRange> ssh_from{};       ///< The addresses that may log in.
  std::vector<std::string> ssh_keys{};   ///< The user's own public keys: "ssh-ed25519 AAAA...".
  std::vector<std::string> key_pairs{};  ///< Names of the user's key pairs in the cloud.
  bool rdma = false;
  PublicAddress public_address = PublicAddress::all;
  std::vector<Mount> mounts{};  ///< The shared storage of every node.
  std::vector<Place> places{};  ///< The best first; at least one.
};

/// The ids of the parts that a cluster's machines share, by the cloud's own words for them ("vpc",
/// "subnet", ...).
using Parts = std::map<std::string, std::string>;

/// The present placement of a cluster in a cloud.
struct CloudPlacement {
  std::size_t place = 0;      ///< The index in CloudSpec::places.
  std::string image{};        ///< Empty until prepared.
  std::string root_device{};  ///< The image's name of its system disk; empty: unknown.
  Parts parts{};
  std::vector<std::string> key_pairs{};  ///< Public keys of CloudSpec::key_pairs.
};

}  // namespace fastgpu::state
