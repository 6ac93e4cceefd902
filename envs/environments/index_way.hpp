// The way from the node that builds to its package indexes: its own, or a tunnel through this
// machine. See docs/adr/0025-indexes-through-a-tunnel.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "envs/environments/index_logins.hpp"
#include "envs/environments/index_tunnel.hpp"
#include "envs/environments/nodes.hpp"

namespace fastgpu::envs {

enum class Fetch : std::uint8_t {
  automatic,  ///< By the node's own way where it has one, else through this machine.
  here,       ///< Through this machine.
  nodes,      ///< By the node's own way, unasked.
};

/// What is fetched, and how it may be.
struct FetchPlan {
  Fetch fetch = Fetch::automatic;
  std::vector<std::string> indexes{};   ///< Addresses that are looked up, or files' roots.
  std::vector<std::string> projects{};  ///< Whose pages tell where an index keeps its files.
  /// "host" or "host:port": further places that this machine connects to for the node.
  std::vector<std::string> hosts{};
  IndexLogins logins{};
  http::CurlSettings network{};
  /// All of it may be on the node already: that no side reaches an index is said only where the
  /// node then fails.
  bool may_need_none = false;
};

/// The host and port of an address: "pypi.org:443".
std::string place_of(const std::string& address);

/// Hosts that well-known indexes are known to keep their files on, as "host:port".
std::vector<std::string> known_file_places(std::span<const std::string> indexes);

/// The places of all http and https addresses in the page of an index, each once.
std::vector<std::string> places_in_page(std::string_view page);

/// A way that stays open for as long as this lives.
class IndexWay {
 public:
  /// Throws remote, naming the index, why neither side reaches it and what to do, before anything
  /// is fetched; as call_node.
  IndexWay(const NodeAccess& access, const ssh::Host& host, const FetchPlan& plan,
           const OnDoing& on_doing);

  /// What the node's programs fetch by; empty for its own way.
  Secret proxy() const { return tunnel_ ? tunnel_->proxy() : Secret(); }
  /// `failure` with what this way could not do for it.
  Error explained(const Error& failure) const;

 private:
  std::string objection_;  // Why there is no way, where none may be needed.
  std::unique_ptr<IndexTunnel> tunnel_;
};

}  // namespace fastgpu::envs
