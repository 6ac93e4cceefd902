#include "comm/transports/socket.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"

namespace fastgpu::comm {
namespace {

std::string name(Rank rank) {
  return "rank " + std::to_string(rank.value);
}

[[noreturn]] void throw_lost(Rank peer, int error) {
  throw Error(ErrorKind::remote, name(peer) + ": " + std::generic_category().message(error));
}

/// Bytes moved by one non-blocking send or recv; 0 where it would have blocked.
std::size_t moved(Rank peer, ssize_t result) {
  if (result >= 0) return static_cast<std::size_t>(result);
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
  throw_lost(peer, errno);
}

int poll_timeout(std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds::rep kMost = std::numeric_limits<int>::max();
  return static_cast<int>(timeout.count() < kMost ? timeout.count() : kMost);
}

}  // namespace

SocketTransport::SocketTransport(Rank self, std::vector<UniqueFd> peers,
                                 std::chrono::milliseconds timeout)
    : self_(self), peers_(std::move(peers)), timeout_(timeout) {}

void SocketTransport::exchange(Rank to, std::span<const std::byte> out, Rank from,
                               std::span<std::byte> in) {
  while (!out.empty() || !in.empty()) {
    const std::size_t written = out.empty() ? 0 : write_some(to, out);
    const std::size_t read = in.empty() ? 0 : read_some(from, in);
    out = out.subspan(written);
    in = in.subspan(read);
    if (written + read > 0 || (out.empty() && in.empty())) continue;
    wait_for_either(out.empty() ? nullptr : &to, in.empty() ? nullptr : &from);
  }
}

int SocketTransport::socket_of(Rank peer) const {
  return peers_.at(static_cast<std::size_t>(peer.value)).get();
}

std::size_t SocketTransport::write_some(Rank to, std::span<const std::byte> bytes) const {
  constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
  return moved(to, ::send(socket_of(to), bytes.data(), bytes.size(), kFlags));
}

std::size_t SocketTransport::read_some(Rank from, std::span<std::byte> bytes) const {
  const ssize_t result = ::recv(socket_of(from), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (result == 0) throw_lost(from, ECONNRESET);
  return moved(from, result);
}

void SocketTransport::wait_for_either(const Rank* to, const Rank* from) const {
  pollfd ends[] = {{to ? socket_of(*to) : -1, POLLOUT, 0},
                   {from ? socket_of(*from) : -1, POLLIN, 0}};
  const int ready = ::poll(ends, 2, poll_timeout(timeout_));
  if (ready > 0 || (ready < 0 && errno == EINTR)) return;
  if (ready < 0) throw system_error("waiting for other ranks", errno);
  std::string silence;
  if (from) silence = name(*from) + " sent nothing";
  if (to) silence += (from ? " and " : "") + name(*to) + " took nothing";
  throw Error(ErrorKind::transient, silence + " for " + to_string(timeout_));
}

}  // namespace fastgpu::comm
