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
  automatic,  ///< The node's own way if it has one, else through this machine.
  here,       ///< Through this machine.
  nodes,      ///< The node's own way, unchecked.
};

/// The addresses to fetch from, and the permitted ways.
struct FetchPlan {
  Fetch fetch = Fetch::automatic;
  std::vector<std::string> indexes{};  ///< The addresses of indexes, or the roots of files.
  /// The projects whose pages list where an index keeps its files.
  std::vector<std::string> projects{};
  /// "host" or "host:port": further places that this machine connects to for the node.
  std::vector<std::string> hosts{};
  IndexLogins logins{};
  http::CurlSettings network{};
  /// All of it may be on the node already: unreachable indexes are reported only if the node then
  /// fails.
  bool may_need_none = false;
};

/// Returns the host and port of an address: "pypi.org:443".
std::string place_of(const std::string& address);

/// Returns the hosts that well-known indexes keep their files on, as "host:port".
std::vector<std::string> known_file_places(std::span<const std::string> indexes);

/// Returns the places of all http and https addresses in the page of an index, each once.
std::vector<std::string> places_in_page(std::string_view page);

/// A way that stays open during this object's lifetime.
class IndexWay {
 public:
  /// Throws remote if neither side reaches an index, naming it, the reasons and the remedy, before
  /// the node fetches; as call_node.
  IndexWay(const NodeAccess& access, const ssh::Host& host, const FetchPlan& plan,
           const OnDoing& on_doing);

  /// Returns the proxy of the node's programs; empty for the node's own way.
  Secret proxy() const { return tunnel_ ? tunnel_->proxy() : Secret(); }
  /// Returns `failure` with the reason if this way had no connection or refused places.
  Error explained(const Error& failure) const;

 private:
  std::string objection_;  // The reason of a missing way that may not be needed.
  std::unique_ptr<IndexTunnel> tunnel_;
};

}  // namespace fastgpu::envs
