// The right to change a cluster, which the cluster's head node grants.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace fastgpu::agent {

/// The record on the head node. Times are seconds since 1970 by its clock.
struct LeaseBook {
  std::string owner{};     ///< The state directory that has taken the cluster over; may be empty.
  std::string taken{};     ///< When, and from which machine, as the owner describes it.
  std::string holder{};    ///< The process that changes the cluster; may be empty.
  std::string who{};       ///< A description of it for users: "laptop, process 4711".
  std::int64_t until = 0;  ///< The end of the holder's lease, unless it is renewed.
  std::int64_t since = 0;  ///< The start of the holder's lease; 0 if it is not recorded.
};

struct LeaseRequest {
  std::string holder{};  ///< The mark of a state directory.
  std::string who{};
  std::chrono::seconds duration{60};
  bool takes_over = false;  ///< Ignores the owner, because the holder is about to become the owner.
  bool breaks = false;      ///< Ignores another's running lease, because its holder is dead.
};

struct LeaseAnswer {
  bool is_granted = false;
  LeaseBook book{};  ///< The record after the answer.
  std::int64_t now = 0;
  /// The holder whose running lease was broken; may be empty.
  std::string broken{};
  std::int64_t broken_since = 0;  ///< The start of that lease; 0 if it is unknown.
};

constexpr std::chrono::seconds kLongestLease{3600};

/// Grants or refuses a lease. Pure. The present holder always gets it, which renews the lease.
/// Another one gets it unless the record has a different owner or a running lease. A lease that
/// ends later than any lease could end was written under another clock, and counts as ended.
LeaseAnswer decide_lease(LeaseBook book, const LeaseRequest& request, std::int64_t now);

std::string to_text(const LeaseBook& book);
LeaseBook parse_lease_book(std::string_view text);  ///< Throws remote.
std::string to_text(const LeaseAnswer& answer);
LeaseAnswer parse_lease_answer(std::string_view text);  ///< Throws remote.

}  // namespace fastgpu::agent
