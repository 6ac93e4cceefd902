// The reason for which one rank cannot join, on its way to the others: all end at once, and for the
// same reason, although each waits for another one.
#pragma once

#include <chrono>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "comm/common/deadline.hpp"
#include "comm/common/rank.hpp"
#include "comm/rendezvous/farewell_error.hpp"

namespace fastgpu::comm {

/// The farewells between this rank and the others that it has met so far. Every rank is connected
/// to rank 0 first, which passes on what it hears.
class Farewells {
 public:
  /// Borrows the sockets, by rank: the first to each carries the messages.
  Farewells(Rank self, const std::vector<std::vector<UniqueFd>>& sockets)
      : self_(self), sockets_(sockets) {}

  /// Throws FarewellError if another rank has said that it cannot go on, in place of a message or
  /// behind one.
  void check() const;
  /// Does so for one rank.
  void check(Rank rank) const;

  /// Returns what `action` returns, and gives the others the reason if it fails. Where it fails
  /// because of another rank, throws that rank's own reason, which may be about to come.
  template <class Action>
  auto around(Action action) const {
    try {
      return action();
    } catch (const FarewellError& e) {
      pass_on(e);
      throw;
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::remote) await_reason();
      say(e, self_);
      throw;
    }
  }

 private:
  void await_reason() const;
  void pass_on(const FarewellError& error) const noexcept;
  void say(const Error& reason, Rank rank) const noexcept;

  Rank self_;
  const std::vector<std::vector<UniqueFd>>& sockets_;
};

/// The time between two looks for farewells in a wait for something else.
constexpr std::chrono::milliseconds kBetweenFarewellChecks{100};

}  // namespace fastgpu::comm
