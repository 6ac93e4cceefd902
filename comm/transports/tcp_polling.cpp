#include "comm/transports/tcp_polling.hpp"

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace fastgpu::comm {
namespace {

PollSource connection_of(const TcpPeer& peer, std::size_t flow) noexcept {
  return {.rank = peer.rank(), .flow = static_cast<std::uint16_t>(flow)};
}

}  // namespace

void TcpPolling::add(TcpPeer& peer, std::size_t flow) {
  poller_.add(peer.flows()[flow]->socket(), connection_of(peer, flow), "watching a socket");
}

void TcpPolling::poll(TcpPeer& peer, std::size_t flow) noexcept {
  const Flow& one = *peer.flows()[flow];
  if (!one.is_open() || one.socket() < 0) return;
  poller_.change(one.socket(),
                 {.in_bytes = !is_paused(peer.rank()), .in_room = one.wants_to_write});
}

void TcpPolling::poll_all(TcpPeer& peer) noexcept {
  for (std::size_t flow = 0; flow < peer.flows().size(); ++flow)
    poll(peer, flow);
}

void TcpPolling::poll_for_room(TcpPeer& peer) noexcept {
  Flows& flows = peer.flows();
  for (std::size_t flow = 0; flow < flows.size(); ++flow) {
    const bool wants = !flows[flow]->is_idle();
    if (wants == flows[flow]->wants_to_write) continue;
    flows[flow]->wants_to_write = wants;
    poll(peer, flow);
  }
}

void wait_for_room(const TcpPeer& peer) {
  const auto& flows = peer.flows();
  const auto first = std::ranges::find_if(
      flows, [](const auto& flow) { return flow->is_open() && flow->carries_notices(); });
  pollfd full{first == flows.end() ? -1 : (*first)->socket(), POLLOUT, 0};
  ::poll(&full, 1, 1);
}

void TcpPolling::pause_if_full(TcpPeer& peer) noexcept {
  State& state = of(peer.rank());
  if (state.is_paused || !peer.is_open() || peer.may_read()) return;
  state.is_paused = true;
  ++paused_;
  poll_all(peer);
}

bool TcpPolling::resume_if_room(TcpPeer& peer) noexcept {
  State& state = of(peer.rank());
  if (!state.is_paused || !peer.may_read()) return false;
  state.is_paused = false;
  --paused_;
  poll_all(peer);
  return true;
}

void TcpPolling::write_next_turn(Rank peer) {
  if (!std::exchange(of(peer).is_waiting, true)) waiting_.push_back(peer);
}

std::vector<Rank> TcpPolling::take_waiting() noexcept {
  for (const Rank peer : waiting_)
    of(peer).is_waiting = false;
  return std::exchange(waiting_, {});
}

void TcpPolling::read_next_turn(Rank peer) {
  if (!std::exchange(of(peer).is_left, true)) left_.push_back(peer);
}

std::vector<Rank> TcpPolling::take_left() noexcept {
  for (const Rank peer : left_)
    of(peer).is_left = false;
  return std::exchange(left_, {});
}

void TcpPolling::forget(Rank peer) noexcept {
  if (std::exchange(of(peer).is_paused, false)) --paused_;
}

}  // namespace fastgpu::comm
