// Lets the awaited ranks in through a listening socket, many at a time, and turns strangers away.
#pragma once

#include <list>
#include <map>
#include <string>

#include "base/unique_fd.hpp"
#include "comm/rendezvous/handshake.hpp"

namespace fastgpu::comm {

/// A rank that has proved itself.
struct Guest {
  UniqueFd socket;
  Endpoint listens_at;
};

using Guests = std::multimap<Rank, Guest>;

/// A stranger costs at most one of a bounded number of seats for a bounded time, so that neither
/// garbage nor silence keeps the ranks out.
class Doorkeeper {
 public:
  /// Borrows both. Awaits every rank above the host's own once, and names `session` to them.
  Doorkeeper(int listener, const Identity& host, const Session& session);

  /// Awaits further connections of ranks that have been let in before: so many of each.
  Doorkeeper(int listener, const Identity& host, std::map<Rank, int> awaited);
  ~Doorkeeper();

  /// Throws ErrorKind::timeout at the deadline, naming the ranks that have not come and the last
  /// visitor that was turned away. At rank 0 also ErrorKind::usage, at once, where a visitor knows
  /// the secret and takes the job for one of another size, and ErrorKind::conflict where a rank
  /// has been started twice: such a job does not come together.
  Guests admit_all(Deadline deadline);

 private:
  class Visitor;

  void wait(Deadline deadline);
  void take_newcomers();
  bool serve(Visitor& visitor);
  bool decide(Visitor& visitor);
  bool is_free(Rank rank);
  bool is_complete();
  void forget_if_departed(Rank rank);
  void admit(Visitor& visitor);
  void give_up_if_hopeless(const Visitor& visitor, Refusal refusal) const;
  void note_refusal(const Visitor& visitor, const std::string& reason);
  std::string absent() const;

  int listener_;
  const Identity& host_;
  Session session_;
  std::map<Rank, int> awaited_;  ///< Connections.
  bool may_come_again_;          ///< A rank that has been let in.
  Guests guests_;
  std::list<Visitor> visitors_;
  std::string last_refusal_;
};

}  // namespace fastgpu::comm
