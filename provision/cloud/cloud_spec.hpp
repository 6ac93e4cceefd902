// The cloud's part of a cluster: the request, the planned places, and the present placement. Stored
// as JSON in state::Cluster.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "provision/cloud/model.hpp"
#include "provision/guards.hpp"

namespace fastgpu::provision::cloud {

/// One offer on which the cluster may be made.
struct Place {
  Site site{};
  std::string type{};
  std::optional<Money> price_per_hour{};  ///< The price of one machine when it was planned.
  int rdma_interfaces = 0;                ///< The interfaces of the type; 0: none, or unknown.
  std::vector<int> rdma_cards{};          ///< Equal to InstanceType::rdma_cards.
  std::string gpus{};                     ///< The GPUs of the type, for people: "8xA100-80G".
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

/// The index of the node through which a cluster with one public address is reached.
constexpr int kHead = 0;
bool has_public_address(PublicAddress which, int index) noexcept;

struct CloudSpec {
  MachineRequest request{};
  std::string region{};  ///< The requested region; empty: any.
  std::string image{};   ///< A name or id; empty: the newest image that suits.
  std::string vpc{};     ///< The user's own network; empty: the cluster gets its own.
  int disk_gib = 0;
  std::vector<IpRange> ssh_from{};       ///< The addresses that may log in.
  std::vector<std::string> ssh_keys{};   ///< The user's own public keys: "ssh-ed25519 AAAA...".
  std::vector<std::string> key_pairs{};  ///< Names of the user's key pairs in the cloud.
  Guards guards{};
  bool rdma = false;
  PublicAddress public_address = PublicAddress::all;
  std::vector<Mount> mounts{};  ///< The shared storage of every node.
  std::vector<Place> places{};  ///< The best first; at least one.
};

std::string to_json_text(const CloudSpec& spec);
/// Throws ErrorKind::local for text that fastgpu cannot have written.
CloudSpec parse_cloud_spec(const std::string& text);

/// Returns the storage of every node of such a cluster in `cloud`, beside its system disk.
Storage storage_of(const CloudSpec& spec, std::string_view cloud);

/// Returns the difference between a cluster made from `there` and a request for `wanted`, whatever
/// offers were found: "with type gn7e, not gn6v". Empty if they agree.
std::string difference(const CloudSpec& there, const CloudSpec& wanted);

/// The present placement of a cluster, stored in Cluster::network.
struct CloudPlacement {
  std::size_t place = 0;      ///< The index in CloudSpec::places.
  std::string image{};        ///< Empty until prepared.
  std::string root_device{};  ///< Image::root_device of that image.
  Parts parts{};
  std::vector<std::string> key_pairs{};  ///< Public keys of CloudSpec::key_pairs.
};

std::string to_json_text(const CloudPlacement& placement);
/// Returns the first place, unprepared, for an empty text.
CloudPlacement parse_cloud_placement(const std::string& text);

/// Returns the price of one machine of a cluster for an hour at its place, as it was when it was
/// planned.
std::optional<Money> price_of(const state::Cluster& cluster);

}  // namespace fastgpu::provision::cloud
