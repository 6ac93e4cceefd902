// Makes connections of a rank anew, by the handshake by which it has joined its job.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/common/retry_schedule.hpp"
#include "comm/rendezvous/handshake.hpp"
#include "comm/rendezvous/peer_acceptor.hpp"
#include "comm/transports/reconnector.hpp"

namespace fastgpu::comm {

/// One of a rank's networks.
struct JoinedNetwork {
  UniqueFd listener;
  Endpoint listens_at{};              ///< This host's address there.
  std::vector<Endpoint> endpoints{};  ///< The addresses of the ranks below this one, by rank.
};

/// A rank connects to those below it, and accepts those above it, as when the ranks joined. A
/// thread that exists from the first request on does the work.
class Reconnections final : public Reconnector {
 public:
  Reconnections(PeerIdentity me, std::vector<JoinedNetwork> networks, RetryTimes times = {});

  /// Waits until an attempt that is under way has ended.
  ~Reconnections() override;

  void replace(Rank peer, const std::string& address) override;
  void forget(Rank peer) override;
  std::vector<Made> take() override;
  int poll_descriptor() const noexcept override { return bell_.get(); }
  std::vector<int> descriptors() const override;

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  /// The connections of one network that this rank is to make.
  struct Missing {
    std::deque<Rank> peers{};
    RetrySchedule schedule;
  };

  void run(const std::stop_token& stop);
  bool has_work() const noexcept;
  std::optional<std::size_t> due_network(Clock::time_point now) const;
  Clock::time_point next_attempt() const;
  void connect_by(std::size_t network, Lock& lock);
  void accept_for(Clock::duration duration, Lock& lock);
  void made(Rank peer, UniqueFd socket);
  std::optional<UniqueFd> attempt(const JoinedNetwork& network, Rank peer) const noexcept;

  const PeerIdentity me_;
  const std::vector<JoinedNetwork> networks_;
  UniqueFd bell_;          ///< Readable if `made_` is not empty.
  PeerAcceptor acceptor_;  ///< Used by the thread alone.

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Missing> missing_;  ///< The missing connections, by network.
  std::map<Rank, int> awaited_;   ///< The connections that other ranks are to make.
  std::vector<Rank> to_await_;    ///< The ranks that the acceptor is to await from now on.
  std::vector<Rank> to_forget_;   ///< The ranks that it is to await no more.
  std::vector<Made> made_;
  std::optional<std::jthread> thread_;  ///< The last member: it uses all others.
};

}  // namespace fastgpu::comm
