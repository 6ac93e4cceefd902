// One message of every rank to every other, while they join.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/common/deadline.hpp"
#include "comm/rendezvous/connections.hpp"
#include "comm/rendezvous/stream.hpp"

namespace fastgpu::comm {

/// A round of fixed messages to and from every other rank. They fit into any socket's buffer, so
/// that all may send before any receives.
class Round {
 public:
  Round(const Connections& connections, Deadline deadline)
      : connections_(connections), deadline_(deadline) {}

  template <class Message, class Take>
  void exchange(const std::vector<Message>& out, Take take) {
    for_others([&](int socket, std::size_t r) { send_all(socket, out[r], deadline_); });
    for_others([&](int socket, std::size_t r) {
      Message in;
      receive_all(socket, in, deadline_);
      take(r, in);
    });
  }

 private:
  template <class Action>
  void for_others(Action action) {
    for (std::size_t r = 0; r < connections_.sockets.size(); ++r) {
      if (connections_.sockets[r].empty()) continue;
      try {
        action(connections_.sockets[r].front().get(), r);
      } catch (const Error& e) {
        throw e.during("rank " + std::to_string(connections_.rank.value) + " meeting rank " +
                       std::to_string(r));
      }
    }
  }

  const Connections& connections_;
  Deadline deadline_;
};

}  // namespace fastgpu::comm
