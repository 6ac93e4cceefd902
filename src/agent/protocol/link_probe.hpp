// The order to `probe-links`, which tries and measures the connections between nodes, and its
// answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// A node to connect to.
struct LinkTarget {
  std::string name;
  std::string address;               ///< IPv4 or IPv6.
  std::vector<std::uint16_t> ports;  ///< The ports on which it listens, if they are free there.
  int slot = 0;                      ///< The time slot in which this connection is measured.
};

/// The order to one node. All nodes get one at about the same time.
struct LinkPlan {
  std::string secret;  ///< 32 hexadecimal digits, by which the nodes recognise each other.
  std::vector<std::uint16_t> ports;  ///< The ports to listen on; a port may be taken.
  std::vector<LinkTarget> targets;
  int incoming = 0;  ///< The number of nodes that connect to this one.
  std::chrono::milliseconds connect_timeout{5'000};
  /// The length of a time slot; 0 if nothing is measured. In a slot a node takes part in one
  /// measurement only.
  std::chrono::milliseconds slot{0};
  int slots = 0;
  bool starts_slots = false;  ///< This node announces the first slot. It connects to all others.
};

struct LinkResult {
  std::string name;                        ///< The target.
  std::string failure;                     ///< Empty if the connection works.
  std::chrono::nanoseconds round_trip{0};  ///< The median of a small message and its answer.
  std::int64_t sent{0};      ///< Bytes per second to the target; 0 if it was not measured.
  std::int64_t received{0};  ///< Bytes per second from the target.
};

struct LinkInterface {
  std::string name;     ///< "eth0"
  std::string address;  ///< "10.0.0.7/24"
  int mtu = 0;
  int megabits = 0;  ///< The speed of the link; 0 if it is unknown.
};

struct LinkAnswer {
  std::vector<LinkInterface> interfaces;
  std::vector<LinkResult> links;  ///< In the order of the targets.
};

std::string to_text(const LinkPlan& plan);
LinkPlan parse_link_plan(std::string_view text);  ///< Throws remote.
std::string to_text(const LinkAnswer& answer);
LinkAnswer parse_link_answer(std::string_view text);  ///< Throws remote.

}  // namespace fastgpu::agent
