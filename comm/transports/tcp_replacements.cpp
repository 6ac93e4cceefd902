#include "comm/transports/tcp_replacements.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "comm/transports/tcp_flow.hpp"
#include "comm/transports/tcp_links.hpp"
#include "comm/transports/tcp_silence.hpp"

namespace fastgpu::comm {

void TcpReplacements::use(std::unique_ptr<Reconnector> reconnector) {
  poller_.add(reconnector->poll_descriptor(), {.kind = PollSource::Kind::new_connections},
              "watching for connections");
  reconnector_ = std::move(reconnector);
}

void TcpReplacements::give_up(TcpPeer& peer, std::size_t flow, const std::string& reason) {
  peer.retire(flow, reason);
  close_retired(peer);
  hub_.write(peer);
}

void TcpReplacements::give_up_silent(TcpPeer& peer) {
  const bool is_heard = look_for_silence(peer, hub_);
  for (std::size_t flow = 0; is_heard && flow < peer.flows().size(); ++flow) {
    if (!is_silent_for_long(peer, flow)) continue;
    const Flow& silent = *peer.flows()[flow];
    const std::string reason = std::string("silent for ") + silent.silence();
    hub_.link_counters().warn_of_failure(peer.rank(), silent.link(), reason);
    give_up(peer, flow, reason);
  }
}

void TcpReplacements::close_retired(TcpPeer& peer) noexcept {
  for (TcpPeer::RetiredFlow& flow : peer.take_retired()) {
    hub_.link_counters().given_up(peer.rank(), *flow.link, flow.reason);
    if (!flow.socket) continue;
    poller_.remove(flow.socket.get());
    if (peer.has_connection())
      hub_.reports().closing(flow.socket.get());
    else
      last_connections(peer.rank()).push_back(std::move(flow.socket));
  }
}

void TcpReplacements::close_last_connections(Rank peer) noexcept {
  for (const UniqueFd& socket : last_connections(peer))
    hub_.reports().closing(socket.get());
  last_connections(peer).clear();
}

void TcpReplacements::request(Rank peer, const std::string& address) {
  if (reconnector_) reconnector_->replace(peer, address);
}

void TcpReplacements::add_made() {
  for (Reconnector::Made& made : reconnector_->take()) {
    TcpPeer* const to = hub_.peer(made.peer);
    if (to == nullptr || to->flows().size() >= kMostConnections) continue;
    LinkCounters& link = hub_.link_counters().of(made.socket.get());
    hub_.link_counters().made_anew(made.peer, link);
    hub_.reports().opened(made.socket.get());
    to->add(std::make_unique<TcpFlow>(std::move(made.socket), link));
    polling_.add(*to, to->flows().size() - 1);
    close_last_connections(made.peer);
    hub_.write(*to);
  }
}

void TcpReplacements::forget(Rank peer) noexcept {
  close_last_connections(peer);
  if (reconnector_) reconnector_->forget(peer);
}

std::vector<int> TcpReplacements::descriptors() const {
  std::vector<int> all;
  if (reconnector_) all = reconnector_->descriptors();
  for (const std::vector<UniqueFd>& sockets : last_connections_)
    std::ranges::transform(sockets, std::back_inserter(all), &UniqueFd::get);
  return all;
}

}  // namespace fastgpu::comm
