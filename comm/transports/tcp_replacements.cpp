#include "comm/transports/tcp_replacements.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "comm/transports/tcp_flow.hpp"
#include "comm/transports/tcp_links.hpp"
#include "comm/transports/tcp_silence.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// A peer whose last connection has failed must answer by another network within this time. It may
/// be busy; if its process has ended, most networks report that earlier.
constexpr auto kDoubtTimeout = 10s;
/// An answer that comes earlier than this after the fault may have been sent before it.
constexpr auto kOldAnswers = 250ms;

/// Returns true if a network beside the connections has brought an answer since that time. Asks for
/// one otherwise.
bool answers_elsewhere(TcpPeer& peer, CarrierHub& hub, Flow::Clock::time_point since) {
  for (std::size_t flow = 0; flow < peer.flows().size(); ++flow) {
    if (!peer.is_carried(flow)) continue;
    if (peer.flows()[flow]->last_confirmed > since) return true;
    peer.ring(flow);
  }
  hub.write(peer);
  return false;
}

}  // namespace

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

bool TcpReplacements::give_up_ended(TcpPeer& peer, std::size_t flow, const Error& error) {
  const bool is_last = !peer.can_spare(flow);
  const bool may_be_there = peer.flows()[flow]->has_failed() && !peer.has_left();
  if (is_last && !(may_be_there && peer.can_spare_last(flow))) return false;
  if (is_last) doubts_.insert_or_assign(peer.rank(), Doubt{Flow::Clock::now(), error});
  give_up(peer, flow, error.what());
  return true;
}

std::optional<Error> TcpReplacements::look(TcpPeer& peer) {
  give_up_silent(peer);
  const auto doubt = doubts_.find(peer.rank());
  if (doubt == doubts_.end()) return std::nullopt;
  const auto& [since, fault] = doubt->second;
  const bool is_there = peer.has_connection() || answers_elsewhere(peer, hub_, since + kOldAnswers);
  if (!is_there && Flow::Clock::now() - since < kDoubtTimeout) return std::nullopt;
  const std::optional<Error> loss = is_there ? std::nullopt : std::optional(fault);
  doubts_.erase(peer.rank());
  return loss;
}

void TcpReplacements::give_up_silent(TcpPeer& peer) {
  const bool is_heard = look_for_silence(peer, hub_);
  for (std::size_t flow = 0; is_heard && flow < peer.flows().size(); ++flow) {
    if (!is_silent_for_long(peer, flow)) continue;
    const Flow& silent = *peer.flows()[flow];
    const LinkCounters& network = silent.link();
    const std::string reason = std::string("silent for ") + silent.silence();
    give_up(peer, flow, reason);
    hub_.link_counters().warn_of_failure(peer.rank(), network, reason);
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
  doubts_.erase(peer);
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
