// The connections that are given up though their peer goes on, and those made in their place.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "comm/common/rank.hpp"
#include "comm/transports/carried_network.hpp"
#include "comm/transports/reconnector.hpp"
#include "comm/transports/tcp_peer.hpp"
#include "comm/transports/tcp_poller.hpp"
#include "comm/transports/tcp_polling.hpp"

namespace fastgpu::comm {

class TcpReplacements {
 public:
  /// Borrows all three. There are `ranks` peers at most.
  TcpReplacements(CarrierHub& hub, TcpPoller& poller, TcpPolling& polling, std::size_t ranks)
      : hub_(hub), poller_(poller), polling_(polling), last_connections_(ranks) {}

  /// Lets connections that are given up be replaced.
  void use(std::unique_ptr<Reconnector> reconnector);

  /// Gives up a connection, or a flow by another network, that has ended because of `error`.
  /// Returns false if the peer cannot be reached without it. A fault of the last connection may be
  /// the end of the peer: look() waits for an answer by another network then.
  bool give_up_ended(TcpPeer& peer, std::size_t flow, const Error& error);
  /// Gives up the flows that carry nothing any more, while others do. Called at equal intervals.
  /// Returns the fault of the last connection if the peer has not answered since.
  std::optional<Error> look(TcpPeer& peer);
  /// Closes the connections that a peer, or this rank, has given up.
  void close_retired(TcpPeer& peer) noexcept;

  /// Requests a connection to a peer in place of the one to this address.
  void request(Rank peer, const std::string& address);
  /// Adds the connections that were made.
  void add_made();

  /// Makes no more connections to a peer, which is lost.
  void forget(Rank peer) noexcept;

  std::vector<int> descriptors() const;

 private:
  /// The fault of the last connection to a peer that may be gone.
  struct Doubt {
    std::chrono::steady_clock::time_point since{};
    Error fault;
  };

  void give_up(TcpPeer& peer, std::size_t flow, const std::string& reason);
  void give_up_silent(TcpPeer& peer);
  std::vector<UniqueFd>& last_connections(Rank peer) noexcept {
    return last_connections_[static_cast<std::size_t>(peer.value)];
  }
  void close_last_connections(Rank peer) noexcept;

  CarrierHub& hub_;
  TcpPoller& poller_;
  TcpPolling& polling_;
  std::unique_ptr<Reconnector> reconnector_;  ///< Null: no connection is replaced.
  /// The last connections to each peer, which were given up. They are closed once there is another
  /// one: their end would be that of this rank, if it came before the notice by another network.
  std::vector<std::vector<UniqueFd>> last_connections_;
  std::map<Rank, Doubt> doubts_;
};

}  // namespace fastgpu::comm
