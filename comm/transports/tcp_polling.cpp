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
  if (is_paused(peer.rank()) || !peer.is_open() || peer.may_read()) return;
  are_paused_[index_of(peer.rank())] = true;
  ++paused_;
  poll_all(peer);
}

bool TcpPolling::resume_if_room(TcpPeer& peer) noexcept {
  if (!is_paused(peer.rank()) || !peer.may_read()) return false;
  are_paused_[index_of(peer.rank())] = false;
  --paused_;
  poll_all(peer);
  return true;
}

void TcpPolling::forget(Rank peer) noexcept {
  if (!is_paused(peer)) return;
  are_paused_[index_of(peer)] = false;
  --paused_;
}

void RanksOfTurn::add(Rank rank) {
  const auto index = static_cast<std::size_t>(rank.value);
  if (are_in_[index]) return;
  are_in_[index] = true;
  ranks_.push_back(rank);
}

std::vector<Rank> RanksOfTurn::take() noexcept {
  for (const Rank rank : ranks_)
    are_in_[static_cast<std::size_t>(rank.value)] = false;
  return std::exchange(ranks_, {});
}

}  // namespace fastgpu::comm
