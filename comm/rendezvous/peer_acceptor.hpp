// Accepts the connections of the awaited ranks at a listening socket, many at a time, and refuses
// strangers.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/rendezvous/handshake.hpp"

namespace fastgpu::comm {

/// The connection of a rank that has proved itself.
struct AcceptedPeer {
  UniqueFd socket;
  Endpoint listens_at;
};

using AcceptedPeers = std::multimap<Rank, AcceptedPeer>;

/// An acceptor of connections. A stranger occupies at most one of a bounded number of pending
/// connections for a bounded time, so that neither garbage nor silence keeps the ranks out.
class PeerAcceptor {
 public:
  /// Borrows the listener and the host. Awaits every rank above the host's own once, and sends them
  /// `session`.
  PeerAcceptor(int listener, const PeerIdentity& host, const Session& session);

  /// Awaits further connections of ranks that were accepted before: that many of each, at any of
  /// the listeners. Borrows these and the host.
  PeerAcceptor(std::vector<int> listeners, const PeerIdentity& host, std::map<Rank, int> awaited);
  ~PeerAcceptor();

  /// Returns once all awaited ranks are connected. Throws ErrorKind::timeout at the deadline,
  /// naming the ranks that have not come and the last connection that was refused. At rank 0 it
  /// also throws ErrorKind::usage, at once, if a peer knows the secret and takes the job for one of
  /// another size, and ErrorKind::conflict if a rank was started twice: such a job does not come
  /// together.
  /// Calls `check` several times in a second meanwhile, and throws what it does.
  AcceptedPeers accept_all(Deadline deadline, const std::function<void()>& check = {});

  /// Returns the connections of awaited ranks that came until the deadline; returns once there is
  /// one.
  AcceptedPeers accept_some(Deadline deadline);

  /// Awaits one more connection of a rank; `forget` awaits none.
  void await(Rank rank) { ++awaited_[rank]; }
  void forget(Rank rank) { awaited_.erase(rank); }

 private:
  class PendingConnection;

  void wait(Deadline deadline);
  void serve_all(Deadline deadline);
  void accept_pending(int listener);
  bool serve(PendingConnection& connection);
  bool decide(PendingConnection& connection);
  bool is_free(Rank rank);
  bool is_complete();
  void forget_if_departed(Rank rank);
  void admit(PendingConnection& connection);
  void give_up_if_hopeless(const PendingConnection& connection, Refusal refusal) const;
  void note_refusal(const PendingConnection& connection, const std::string& reason);
  std::string absent() const;

  std::vector<int> listeners_;
  const PeerIdentity& host_;
  Session session_;
  std::map<Rank, int> awaited_;  ///< Connections.
  bool may_come_again_;          ///< Whether a rank that was accepted may connect again.
  AcceptedPeers accepted_;
  std::list<PendingConnection> pending_;
  std::string last_refusal_;
};

}  // namespace fastgpu::comm
