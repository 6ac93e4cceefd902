// What this machine must have and allow so that an ordinary user can make nodes on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace fastgpu::provision::local {

/// Subordinate ids of a user, out of /etc/subuid or /etc/subgid.
struct IdRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// What was found, and nothing decided yet.
struct RootlessFacts {
  std::string user;         ///< The login name, or the number of a user without one.
  int namespace_error = 0;  ///< The errno of making a user namespace and another one inside.
  // Where the system says so with a switch of its own; absent where it has no such switch.
  std::optional<long> namespaces_switch{};  ///< kernel.unprivileged_userns_clone
  std::optional<long> most_namespaces{};    ///< user.max_user_namespaces
  std::optional<long> apparmor_switch{};    ///< kernel.apparmor_restrict_unprivileged_userns
  // Paths; empty where the program is missing.
  std::string newuidmap{};
  std::string newgidmap{};
  std::string fuse_overlayfs{};
  std::optional<IdRange> user_ids{};
  std::optional<IdRange> group_ids{};
  int fuse_error = 0;  ///< The errno of opening /dev/fuse.
};

/// Something in the way.
struct Obstacle {
  ErrorKind kind = ErrorKind::local;  ///< denied: an administrator must allow it; local: missing.
  std::string what;
  std::string remedy;
};

/// Everything in the way; empty where local nodes can be made.
std::vector<Obstacle> obstacles(const RootlessFacts& facts);

/// All of them as one failure, with the ways round.
Error refusal_of(const RootlessFacts& facts, const std::vector<Obstacle>& found);

/// The first range that is large enough, in the text of /etc/subuid or /etc/subgid, of a user by
/// name or by number.
std::optional<IdRange> find_id_range(std::string_view text, std::string_view name,
                                     std::uint32_t number);

/// The path of a program of the system; empty where it is missing.
std::string find_system_program(const std::string& name);

/// Looks at this machine. Makes a process, for a moment, to try out its namespaces.
RootlessFacts look_at_machine();

}  // namespace fastgpu::provision::local
