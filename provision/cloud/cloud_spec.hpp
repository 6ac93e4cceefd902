// A cloud's part of a cluster: what was wished, the places that were planned for it, and where it
// has come to stand. Kept as JSON in state::Cluster.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "provision/cloud/model.hpp"
#include "provision/guards.hpp"

namespace fastgpu::provision::cloud {

/// One offer that the cluster may be made of.
struct Place {
  Site site{};
  std::string type{};
  std::optional<Money> price_per_hour{};  ///< Of one machine, when it was planned.
  int rdma_interfaces = 0;                ///< Of the type; 0: none, or not told.
  std::vector<int> rdma_cards{};          ///< As InstanceType::rdma_cards.
  std::string gpus{};                     ///< Of the type, for people: "8xA100-80G".
  std::optional<Money> max_price{};       ///< Wish::max_price in the currency of this place.
};

/// Which nodes have an address that the whole world can reach.
enum class PublicAddress : std::uint8_t {
  all,
  head,  ///< The first node alone: the others are reached through it.
  none,  ///< Whoever uses the cluster is in its network.
};

/// "all", "head", "none".
std::string_view to_string(PublicAddress which) noexcept;
/// Throws ErrorKind::usage for any other word.
PublicAddress parse_public_address(std::string_view word);

/// The node that a cluster with one public address is reached through.
constexpr int kHead = 0;
bool has_public_address(PublicAddress which, int index) noexcept;

struct CloudSpec {
  Wish wish{};
  std::string region{};  ///< Wished; empty: any.
  std::string image{};   ///< A name or id; empty: the newest that suits.
  std::string vpc{};     ///< The user's own; empty: one of the cluster's.
  int disk_gib = 0;
  std::vector<IpRange> ssh_from{};       ///< Who may log in.
  std::vector<std::string> ssh_keys{};   ///< The user's own, public: "ssh-ed25519 AAAA...".
  std::vector<std::string> key_pairs{};  ///< Of the user's in the cloud, by name.
  Guards guards{};
  bool rdma = false;
  PublicAddress public_address = PublicAddress::all;
  std::vector<Mount> mounts{};  ///< What every node has of storage that is shared.
  std::vector<Place> places{};  ///< The best first; at least one.
};

std::string to_json_text(const CloudSpec& spec);
/// Throws ErrorKind::local for what no fastgpu has written.
CloudSpec parse_cloud_spec(const std::string& text);

/// What every node of such a cluster has beside its system disk, in `cloud`.
Storage storage_of(const CloudSpec& spec, std::string_view cloud);

/// How a cluster made from `there` differs from one of `wanted`, whatever offers were found: "with
/// type gn7e, not gn6v"; empty where it does not.
std::string difference(const CloudSpec& there, const CloudSpec& wanted);

/// Where a cluster stands: kept in Cluster::network.
struct Standing {
  std::size_t place = 0;      ///< Which of CloudSpec::places.
  std::string image{};        ///< Empty until prepared.
  std::string root_device{};  ///< Of that image, as Image::root_device.
  Parts parts{};
  std::vector<std::string> key_pairs{};  ///< Public keys of CloudSpec::key_pairs.
};

std::string to_json_text(const Standing& standing);
/// For an empty text the first place, unprepared.
Standing parse_standing(const std::string& text);

/// What one machine of a cluster costs an hour where it stands, as it was told when it was planned.
std::optional<Money> price_of(const state::Cluster& cluster);

}  // namespace fastgpu::provision::cloud
