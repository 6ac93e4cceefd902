// The requirements of this machine for nodes of an ordinary user.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace fastgpu::provision::local {

/// A user's subordinate ids, from /etc/subuid or /etc/subgid.
struct IdRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// The findings, without a decision.
struct RootlessFacts {
  std::string user;         ///< The login name, or the number of a user without a name.
  int namespace_error = 0;  ///< The errno of making a user namespace and another one inside.
  int proc_error = 0;       ///< The errno of mounting /proc in such namespaces.
  // The system's own switches; absent if it has no such switch.
  std::optional<long> namespaces_switch{};  ///< kernel.unprivileged_userns_clone
  std::optional<long> most_namespaces{};    ///< user.max_user_namespaces
  std::optional<long> apparmor_switch{};    ///< kernel.apparmor_restrict_unprivileged_userns
  // Paths; empty if the program is missing.
  std::string newuidmap{};
  std::string newgidmap{};
  std::string fuse_overlayfs{};
  std::optional<IdRange> user_ids{};
  std::optional<IdRange> group_ids{};
  int fuse_error = 0;  ///< The errno of opening /dev/fuse.
};

/// One obstacle.
struct Obstacle {
  ErrorKind kind = ErrorKind::local;  ///< denied: an administrator must allow it; local: missing.
  std::string what;
  std::string remedy;
};

/// Returns all obstacles; empty if local nodes can be made.
std::vector<Obstacle> obstacles(const RootlessFacts& facts);

/// Returns all of them as one failure, with the remedies.
Error refusal_of(const RootlessFacts& facts, const std::vector<Obstacle>& found);

/// Returns the first range that is large enough, in the text of /etc/subuid or /etc/subgid, of a
/// user by name or by number.
std::optional<IdRange> find_id_range(std::string_view text, std::string_view name,
                                     std::uint32_t number);

/// Returns the path of a program of the system; empty if it is missing.
std::string find_system_program(const std::string& name);

/// Examines this machine. Makes processes, for a moment, to try out its namespaces.
RootlessFacts look_at_machine();

}  // namespace fastgpu::provision::local
