// Who may change a cluster now: asked of, and answered by, the cluster's head node.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace fastgpu::agent {

/// What a head node remembers. Times are seconds since 1970 by its own clock.
struct LeaseBook {
  std::string owner{};     ///< The state directory that has taken the cluster over; empty: nobody.
  std::string taken{};     ///< When, and by which machine: as it was said.
  std::string holder{};    ///< Whoever changes the cluster; empty: nobody.
  std::string who{};       ///< The same for people: "laptop, process 4711".
  std::int64_t until = 0;  ///< When the holder has no more rights, unless it asks again.
  std::int64_t since = 0;  ///< When it got them; 0: not written down.
};

struct LeaseWish {
  std::string holder{};  ///< A state directory's mark.
  std::string who{};
  std::chrono::seconds duration{60};
  bool takes_over = false;  ///< The owner does not matter: the holder is about to be it.
  bool breaks = false;      ///< Nor does it that another's lease is running: that one is dead.
};

struct LeaseAnswer {
  bool is_granted = false;
  LeaseBook book{};  ///< As it is after the answer.
  std::int64_t now = 0;
  std::string broken{};           ///< Whose running lease was broken for it; empty: nobody's.
  std::int64_t broken_since = 0;  ///< Since when he had it; 0: not known.
};

constexpr std::chrono::seconds kLongestLease{3600};

/// Pure. The same holder is always granted, which renews its lease; another one where the book's
/// owner is not somebody else, and no lease is running. A lease that ends later than any that could
/// have been granted was written under another clock, and counts as ended.
LeaseAnswer decide_lease(LeaseBook book, const LeaseWish& wish, std::int64_t now);

std::string to_text(const LeaseBook& book);
LeaseBook parse_lease_book(std::string_view text);  ///< Throws remote.
std::string to_text(const LeaseAnswer& answer);
LeaseAnswer parse_lease_answer(std::string_view text);  ///< Throws remote.

}  // namespace fastgpu::agent
