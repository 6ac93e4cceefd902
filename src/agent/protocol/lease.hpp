// The right to change a cluster: requested from, and granted by, the cluster's head node.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace fastgpu::agent {

/// A head node's record. Times are seconds since 1970 by its own clock.
struct LeaseBook {
  std::string owner{};     ///< The state directory that has taken the cluster over; may be empty.
  std::string taken{};     ///< When, and by which machine, in the owner's words.
  std::string holder{};    ///< The process that changes the cluster; may be empty.
  std::string who{};       ///< A description of it for users: "laptop, process 4711".
  std::int64_t until = 0;  ///< The end of the holder's rights, unless it renews them.
  std::int64_t since = 0;  ///< The start of its rights; 0: not recorded.
};

struct LeaseRequest {
  std::string holder{};  ///< A state directory's mark.
  std::string who{};
  std::chrono::seconds duration{60};
  bool takes_over = false;  ///< Ignores the owner: the holder is about to become it.
  bool breaks = false;      ///< Ignores another's running lease: its holder is dead.
};

struct LeaseAnswer {
  bool is_granted = false;
  LeaseBook book{};  ///< The book after the answer.
  std::int64_t now = 0;
  /// The holder whose running lease was broken for it; may be empty.
  std::string broken{};
  std::int64_t broken_since = 0;  ///< The start of that lease; 0: unknown.
};

constexpr std::chrono::seconds kLongestLease{3600};

/// Grants or refuses a lease. Pure. The same holder is always granted, which renews its lease.
/// Another one is granted unless the book has a different owner or a running lease. A lease that
/// ends later than any that could have been granted was written under another clock, and counts as
/// ended.
LeaseAnswer decide_lease(LeaseBook book, const LeaseRequest& wish, std::int64_t now);

std::string to_text(const LeaseBook& book);
LeaseBook parse_lease_book(std::string_view text);  ///< Throws remote.
std::string to_text(const LeaseAnswer& answer);
LeaseAnswer parse_lease_answer(std::string_view text);  ///< Throws remote.

}  // namespace fastgpu::agent
