#include "comm/rendezvous/reconnections.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/error.hpp"
#include "comm/common/start_thread.hpp"
#include "comm/rendezvous/endpoint.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// The limits of an attempt: a network that works answers within milliseconds. The other side may
/// be in an attempt itself before it answers.
constexpr auto kRetryConnect = 1s;
constexpr auto kRetryHandshake = 3s;

/// The longest time without a look at new requests.
constexpr std::chrono::milliseconds kAcceptSlice = 100ms;

std::vector<int> listeners_of(const std::vector<JoinedNetwork>& networks) {
  std::vector<int> all;
  for (const JoinedNetwork& network : networks)
    all.push_back(network.listener.get());
  return all;
}

/// Returns the network in which this host has that address; the first one if it is unknown.
std::size_t network_of(const std::vector<JoinedNetwork>& networks, const std::string& address) {
  const auto is_there = [&](const JoinedNetwork& network) {
    return address_text(network.listens_at) == address;
  };
  const auto found = std::ranges::find_if(networks, is_there);
  return found == networks.end() ? 0 : static_cast<std::size_t>(found - networks.begin());
}

}  // namespace

Reconnections::Reconnections(PeerIdentity me, std::vector<JoinedNetwork> networks, RetryTimes times)
    : me_(std::move(me)),
      networks_(std::move(networks)),
      bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      acceptor_(listeners_of(networks_), me_, {}),
      missing_(networks_.size(), Missing{.schedule = RetrySchedule(times)}) {
  if (!bell_) throw system_error("making an eventfd", errno);
}

Reconnections::~Reconnections() = default;

void Reconnections::replace(Rank peer, const std::string& address) {
  const Lock lock(mutex_);
  if (peer < me_.rank) {
    Missing& missing = missing_[network_of(networks_, address)];
    if (missing.peers.empty()) missing.schedule.failed(Clock::now());
    missing.peers.push_back(peer);
  } else {
    ++awaited_[peer];
    to_await_.push_back(peer);
  }
  if (!thread_) thread_ = start_thread([this](const std::stop_token& stop) { run(stop); });
  changed_.notify_all();
}

void Reconnections::forget(Rank peer) {
  const Lock lock(mutex_);
  for (Missing& missing : missing_)
    std::erase(missing.peers, peer);
  if (awaited_.erase(peer) > 0) {
    std::erase(to_await_, peer);
    to_forget_.push_back(peer);
  }
  std::erase_if(made_, [&](const Made& each) { return each.peer == peer; });
}

std::vector<Reconnector::Made> Reconnections::take() {
  const Lock lock(mutex_);
  std::uint64_t rings = 0;
  [[maybe_unused]] const ssize_t read = ::read(bell_.get(), &rings, sizeof(rings));
  return std::exchange(made_, {});
}

std::vector<int> Reconnections::descriptors() const {
  std::vector<int> all = listeners_of(networks_);
  all.push_back(bell_.get());
  return all;
}

// ---- the thread ----

void Reconnections::run(const std::stop_token& stop) {
  Lock lock(mutex_);
  while (!stop.stop_requested()) {
    changed_.wait(lock, stop, [this] { return has_work(); });
    if (stop.stop_requested()) return;
    if (const auto network = due_network(Clock::now())) {
      connect_by(*network, lock);
      continue;
    }
    const Clock::time_point next = next_attempt();
    if (!awaited_.empty())
      accept_for(std::min<Clock::duration>(next - Clock::now(), kAcceptSlice), lock);
    else
      changed_.wait_until(lock, stop, next, [&] {
        return !has_work() || !awaited_.empty() || next_attempt() < next;
      });
  }
}

bool Reconnections::has_work() const noexcept {
  return !awaited_.empty() ||
         std::ranges::any_of(missing_, [](const Missing& each) { return !each.peers.empty(); });
}

std::optional<std::size_t> Reconnections::due_network(Clock::time_point now) const {
  for (std::size_t network = 0; network < missing_.size(); ++network)
    if (!missing_[network].peers.empty() && missing_[network].schedule.due() <= now) return network;
  return std::nullopt;
}

Reconnections::Clock::time_point Reconnections::next_attempt() const {
  Clock::time_point next = Clock::now() + 1h;
  for (const Missing& each : missing_)
    if (!each.peers.empty()) next = std::min(next, each.schedule.due());
  return next;
}

/// Tries one connection of a network. If it fails, another one is the next.
void Reconnections::connect_by(std::size_t network, Lock& lock) {
  const Rank peer = missing_[network].peers.front();
  lock.unlock();
  auto socket = attempt(networks_[network], peer);
  lock.lock();
  Missing& missing = missing_[network];
  const auto entry = std::ranges::find(missing.peers, peer);
  if (entry == missing.peers.end()) return;  // The peer has been lost meanwhile.
  missing.peers.erase(entry);
  if (socket) {
    missing.schedule.succeeded(Clock::now());
    made(peer, std::move(*socket));
  } else {
    missing.schedule.failed(Clock::now());
    missing.peers.push_back(peer);
  }
}

std::optional<UniqueFd> Reconnections::attempt(const JoinedNetwork& network,
                                               Rank peer) const noexcept try {
  Endpoint source = network.listens_at;
  source.port = 0;
  PeerConnection connection = connect_to(network.endpoints.at(static_cast<std::size_t>(peer.value)),
                                         source, Deadline(kRetryConnect));
  if (connection.error != 0) return std::nullopt;
  present(connection.socket.get(), me_, network.listens_at, Deadline(kRetryHandshake));
  return std::move(connection.socket);
} catch (const std::exception&) {
  return std::nullopt;  // The network does not work yet, or the other side has not noticed that.
}

void Reconnections::accept_for(Clock::duration duration, Lock& lock) {
  for (const Rank peer : std::exchange(to_await_, {}))
    acceptor_.await(peer);
  for (const Rank peer : std::exchange(to_forget_, {}))
    acceptor_.forget(peer);
  lock.unlock();
  AcceptedPeers peers;
  try {
    peers = acceptor_.accept_some(Deadline(std::chrono::ceil<std::chrono::milliseconds>(duration)));
  } catch (const Error&) {
    std::this_thread::sleep_for(kAcceptSlice);  // The process has too few descriptors now.
  }
  lock.lock();
  for (auto& [peer, accepted] : peers) {
    const auto awaited = awaited_.find(peer);
    if (awaited == awaited_.end()) continue;  // The peer has been lost meanwhile.
    if (--awaited->second == 0) awaited_.erase(awaited);
    made(peer, std::move(accepted.socket));
  }
}

void Reconnections::made(Rank peer, UniqueFd socket) {
  made_.push_back({peer, std::move(socket)});
  const std::uint64_t ring = 1;
  [[maybe_unused]] const ssize_t written = ::write(bell_.get(), &ring, sizeof(ring));
}

}  // namespace fastgpu::comm
