#include "agent/guard/metadata_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "base/numbers.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kLongestAnswer = 16'384;

std::optional<sockaddr_in> parse_address(std::string_view text) {
  const std::size_t colon = text.find(':');
  std::uint16_t port = 80;
  if (colon != std::string_view::npos) {
    const auto number = to_number<std::uint16_t>(text.substr(colon + 1));
    if (!number) return std::nullopt;
    port = *number;
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  const std::string host(text.substr(0, colon));
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) return std::nullopt;
  return address;
}

/// Waits for `events`. Returns false after the deadline.
bool wait_for(int fd, short events, SteadyClock::time_point until) {
  const auto left = std::chrono::ceil<milliseconds>(until - SteadyClock::now());
  pollfd ready{fd, events, 0};
  return left.count() > 0 && ::poll(&ready, 1, static_cast<int>(left.count())) == 1;
}

bool send_all(int fd, std::string_view text, SteadyClock::time_point until) {
  while (!text.empty()) {
    if (!wait_for(fd, POLLOUT, until)) return false;
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// Reads until the other side closes the connection. Absent after the deadline.
std::optional<std::string> read_answer(int fd, SteadyClock::time_point until) {
  std::string answer;
  std::array<char, 4096> piece;
  while (answer.size() <= kLongestAnswer) {
    if (!wait_for(fd, POLLIN, until)) return std::nullopt;
    const ssize_t got = ::recv(fd, piece.data(), piece.size(), 0);
    if (got < 0) return std::nullopt;
    if (got == 0) return answer;
    answer.append(piece.data(), static_cast<std::size_t>(got));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> fetch_metadata(std::string_view address, std::string_view method,
                                          std::string_view path, std::string_view headers,
                                          milliseconds timeout) {
  const auto until = SteadyClock::now() + timeout;
  const auto peer = parse_address(address);
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!peer || !fd) return std::nullopt;
  const auto* place = reinterpret_cast<const sockaddr*>(&*peer);
  if (::connect(fd.get(), place, sizeof *peer) != 0 && errno != EINPROGRESS) return std::nullopt;
  // In HTTP 1.0 an answer ends with the connection and is not chunked.
  std::string request(method);
  request.append(" ").append(path).append(" HTTP/1.0\r\nHost: ").append(address);
  request.append("\r\nConnection: close\r\nContent-Length: 0\r\n").append(headers).append("\r\n");
  if (!send_all(fd.get(), request, until)) return std::nullopt;
  const auto answer = read_answer(fd.get(), until);
  return answer ? body_of(*answer) : std::nullopt;
}

std::optional<std::string> body_of(std::string_view answer) {
  constexpr std::string_view kVersion = "HTTP/1.";
  constexpr std::string_view kEndOfHead = "\r\n\r\n";
  const std::size_t head = answer.find(kEndOfHead);
  if (head == std::string_view::npos || !answer.starts_with(kVersion)) return std::nullopt;
  // At least the end of the head follows.
  const std::string_view after = answer.substr(kVersion.size() + 1);
  if (!after.starts_with(" 200 ")) return std::nullopt;
  return std::string(answer.substr(head + kEndOfHead.size()));
}

}  // namespace fastgpu::agent
