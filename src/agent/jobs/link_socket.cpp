#include "agent/jobs/link_socket.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace fastgpu::agent {
namespace {

using Steady = std::chrono::steady_clock;

/// The bytes of a number on the wire, the highest first.
using NumberBytes = std::array<char, 8>;

}  // namespace

LinkSocket::LinkSocket(UniqueFd socket, std::chrono::milliseconds limit)
    : socket_(std::move(socket)) {
  const int flags = ::fcntl(socket_.get(), F_GETFL);
  const int yes = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (flags < 0 || ::fcntl(socket_.get(), F_SETFL, flags & ~O_NONBLOCK) != 0 || !set_limit(limit))
    socket_ = UniqueFd();
}

bool LinkSocket::set_limit(std::chrono::milliseconds limit) {
  const auto count = std::max<std::int64_t>(1, limit.count());
  timeval time{};
  time.tv_sec = count / 1'000;
  time.tv_usec = (count % 1'000) * 1'000;
  return ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0 &&
         ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time) == 0;
}

bool LinkSocket::send(std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool LinkSocket::receive(std::span<char> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

bool LinkSocket::send_number(std::uint64_t number) {
  NumberBytes bytes{};
  for (std::size_t i = bytes.size(); i-- > 0; number >>= 8U)
    bytes[i] = static_cast<char>(number & 0xffU);
  return send(bytes);
}

bool LinkSocket::receive_number(std::uint64_t& number) {
  NumberBytes bytes{};
  if (!receive(bytes)) return false;
  number = 0;
  for (const char byte : bytes)
    number = (number << 8U) | static_cast<unsigned char>(byte);
  return true;
}

bool LinkSocket::send_blocks(std::chrono::milliseconds duration) {
  const std::vector<char> block(kBlock);
  const auto end = Steady::now() + duration;
  while (Steady::now() < end)
    if (!send_number(block.size()) || !send(block)) return false;
  return send_number(0);
}

std::uint64_t LinkSocket::receive_blocks() {
  std::vector<char> block(kBlock);
  std::uint64_t size = 0, total = 0;
  if (!receive_number(size)) return 0;
  const auto begin = Steady::now();
  while (size > 0) {
    if (size > block.size() || !receive(std::span(block).first(size))) return 0;
    total += size;
    if (!receive_number(size)) return 0;
  }
  const std::chrono::duration<double> took = Steady::now() - begin;
  if (total == 0 || took.count() <= 0) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(total) / took.count());
}

}  // namespace fastgpu::agent
