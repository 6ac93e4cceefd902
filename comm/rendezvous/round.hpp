// One message of every rank to every other, while they join.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "comm/common/caused_error.hpp"
#include "comm/common/deadline.hpp"
#include "comm/common/rank.hpp"
#include "comm/rendezvous/farewells.hpp"
#include "comm/rendezvous/stream.hpp"

namespace fastgpu::comm {

/// A round of fixed messages to and from every other rank. They fit into any socket's buffer, so
/// that all may send before any receives.
class Round {
 public:
  /// Borrows the sockets, by rank: the first to each carries the messages.
  Round(Rank self, const std::vector<std::vector<UniqueFd>>& sockets, Deadline deadline)
      : self_(self), sockets_(sockets), deadline_(deadline), farewells_(self, sockets) {}

  /// Sends each rank its message, and calls `take` with that of each. Throws FarewellError if a
  /// rank cannot go on; all ranks get the reason.
  template <class Message, class Take>
  void exchange(const std::vector<Message>& out, Take take) {
    farewells_.around([&] {
      for_others([&](std::size_t r) { send_all(socket_of(r), out[r], deadline_); });
      for (std::size_t r = 0; r < sockets_.size(); ++r)
        if (!sockets_[r].empty()) receive<Message>(r, take);
    });
  }

  /// Calls `action` with the number of each other rank. Its errors name both ranks.
  template <class Action>
  void for_others(Action action) {
    for (std::size_t r = 0; r < sockets_.size(); ++r)
      if (!sockets_[r].empty()) with_names(r, [&] { action(r); });
  }

  /// Returns what this rank does with another, for errors.
  std::string name_of(std::size_t rank) const {
    return "rank " + std::to_string(self_.value) + " meeting rank " + std::to_string(rank);
  }

 private:
  template <class Message, class Take>
  void receive(std::size_t rank, Take& take) {
    while (!is_readable(socket_of(rank), within(deadline_, kBetweenFarewellChecks)) &&
           !deadline_.passed())
      farewells_.check();
    farewells_.check({static_cast<int>(rank)});
    with_names(rank, [&] {
      Message in;
      receive_all(socket_of(rank), in, deadline_);
      take(rank, in);
    });
  }

  template <class Action>
  void with_names(std::size_t rank, Action action) {
    try {
      action();
    } catch (const FarewellError&) {
      throw;  // It names the rank that cannot go on.
    } catch (const Error& e) {
      throw caused_by(rank, as_lost(e).during(name_of(rank)));
    }
  }

  /// Returns the error with the rank that has caused it: the other one where it has gone, and where
  /// both differ, unless it is rank 0, whose settings are those of the job.
  CausedError caused_by(std::size_t rank, const Error& error) const {
    const bool is_local = error.kind() == ErrorKind::local || error.kind() == ErrorKind::capacity;
    const bool is_own = error.kind() == ErrorKind::usage && rank == 0;
    if (is_local || is_own) return error;
    return {error, Rank{static_cast<int>(rank)}};
  }

  int socket_of(std::size_t rank) const { return sockets_[rank].front().get(); }

  Rank self_;
  const std::vector<std::vector<UniqueFd>>& sockets_;
  Deadline deadline_;
  Farewells farewells_;
};

}  // namespace fastgpu::comm
