#include "http/forwarder.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "base/split.hpp"
#include "http/urls.hpp"

namespace fastgpu::http {
namespace {

constexpr std::size_t kLongestHead = 64UL << 10;
constexpr std::size_t kPiece = 64UL << 10;
constexpr int kTimeout = 30'000;  // The timeout for the head of a request, in milliseconds.
constexpr std::string_view kEnd = "\r\n\r\n";
/// Headers that are only between a client and its proxy. They are replaced so that the server
/// closes after its answer, and no second request follows on the same connection.
constexpr std::array kOwnHeaders = {"proxy-authorization", "proxy-connection", "connection",
                                    "keep-alive"};

Error bad(const std::string& what) {
  return {ErrorKind::usage, "the request is for no proxy: " + what};
}

std::uint16_t port_of(std::string_view authority, std::uint16_t usual) {
  const std::string_view host = host_of(authority);
  if (host.size() == authority.size()) return usual;
  const auto port = to_number<std::uint16_t>(authority.substr(host.size() + 1)).value_or(0);
  if (port == 0) throw bad("'" + printable(authority) + "' has no port");
  return port;
}

std::string host_without_brackets(std::string_view authority) {
  std::string_view host = host_of(authority);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) throw bad("it names no host");
  return ascii_lower(host);
}

std::string_view take_line(std::string_view& rest) {
  const auto end = rest.find("\r\n");
  if (end == rest.npos) throw bad("a line without an end");
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return line;
}

/// Sets the host, the port and the method from the first line. Returns the line to send to the
/// server.
std::string read_first_line(std::string_view line, ForwardRequest& request) {
  const auto first = line.find(' ');
  const auto second = line.find(' ', std::min(first, line.size() - 1) + 1);
  if (first == line.npos || second == line.npos || !line.substr(second + 1).starts_with("HTTP/1."))
    throw bad("'" + printable(line) + "'");
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, second - first - 1);
  request.connects = method == "CONNECT";
  if (request.connects) {
    request.host = host_without_brackets(target);
    request.port = port_of(target, 0);
    if (request.port == 0) throw bad("'" + printable(target) + "' has no port");
    return "";
  }
  const Url url = parse_url(target);
  if (url.scheme != "http") throw bad("'" + printable(url.scheme) + "' without CONNECT");
  request.host = host_without_brackets(url.authority);
  request.port = port_of(url.authority, 80);
  return std::string(method) + " " + (url.path.empty() ? "/" : url.path) +
         (url.query.empty() ? "" : "?" + url.query) + " HTTP/1.1\r\n";
}

/// Waits until `fd` is readable. Returns false after a stop request or a timeout.
bool await(int fd, int timeout_ms, const Cancel& cancel) {
  std::array<pollfd, 2> polled = {pollfd{fd, POLLIN, 0}, pollfd{cancel.fd(), POLLIN, 0}};
  return ::poll(polled.data(), polled.size(), timeout_ms) > 0 && !cancel.requested();
}

void send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw system_error("answering a client", errno);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// Returns the head of the request. `rest` gets the bytes after it. Absent if the head is too long
/// or does not arrive in time.
std::optional<std::string> read_head(int fd, std::string& rest, const Cancel& cancel) {
  std::array<char, kPiece> piece{};
  while (rest.find(kEnd) == rest.npos) {
    if (rest.size() > kLongestHead || !await(fd, kTimeout, cancel)) return std::nullopt;
    const ssize_t count = ::recv(fd, piece.data(), piece.size(), 0);
    if (count <= 0) return std::nullopt;
    rest.append(piece.data(), static_cast<std::size_t>(count));
  }
  const auto end = rest.find(kEnd) + kEnd.size();
  std::string head = rest.substr(0, end);
  rest.erase(0, end);
  return head;
}

void refuse(int client, const char* status, const std::string& why) {
  send_all(client, "HTTP/1.1 " + std::string(status) +
                       "\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: " +
                       std::to_string(why.size() + 1) + "\r\n\r\n" + why + "\n");
}

/// One direction between two sockets.
struct Direction {
  int from;
  int to;
  std::string waiting{};
  bool is_read_out = false;
  bool is_over = false;

  short wants_from() const { return !is_read_out && waiting.empty() ? POLLIN : 0; }
  short wants_to() const { return waiting.empty() ? 0 : POLLOUT; }

  /// Moves bytes in this direction. Throws if the other side has closed.
  void move() {
    if (waiting.empty() && !is_read_out) read();
    if (!waiting.empty()) write();
    if (waiting.empty() && is_read_out && !is_over) {
      ::shutdown(to, SHUT_WR);
      is_over = true;
    }
  }

 private:
  void read() {
    std::array<char, kPiece> piece{};
    const ssize_t count = ::recv(from, piece.data(), piece.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0) throw system_error("passing on", errno);
    is_read_out = count == 0;
    waiting.assign(piece.data(), static_cast<std::size_t>(count));
  }
  void write() {
    const ssize_t count = ::send(to, waiting.data(), waiting.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0) throw system_error("passing on", errno);
    waiting.erase(0, static_cast<std::size_t>(count));
  }
};

void pass_on(int client, int server, const Cancel& cancel) {
  Direction up{client, server};
  Direction down{server, client};
  while (!(up.is_over && down.is_over) && !cancel.requested()) {
    const auto at_client = static_cast<short>(up.wants_from() | down.wants_to());
    const auto at_server = static_cast<short>(down.wants_from() | up.wants_to());
    std::array<pollfd, 3> polled = {pollfd{at_client == 0 ? -1 : client, at_client, 0},
                                    pollfd{at_server == 0 ? -1 : server, at_server, 0},
                                    pollfd{cancel.fd(), POLLIN, 0}};
    if (::poll(polled.data(), polled.size(), -1) < 0) continue;
    up.move();
    down.move();
  }
}

UniqueFd connect_for(int client, const ForwardRequest& request, const Forwarding& forwarding) try {
  return forwarding.connect(request.host, request.port);
} catch (const Error& e) {
  refuse(client, e.kind() == ErrorKind::denied ? "403 Forbidden" : "502 Bad Gateway", e.what());
  return {};
}

void serve(int client, const Forwarding& forwarding, const Cancel& cancel) {
  std::string rest;
  const auto head = read_head(client, rest, cancel);
  if (!head) return;
  const ForwardRequest request = parse_forward_request(*head);
  if (request.login != forwarding.login.reveal())
    return refuse(client, "407 Proxy Authentication Required", "this proxy is another's");
  const UniqueFd server = connect_for(client, request, forwarding);
  if (!server) return;
  if (request.connects)
    send_all(client, "HTTP/1.1 200 Connection established\r\n\r\n");
  else
    send_all(server.get(), request.head);
  send_all(server.get(), rest);
  pass_on(client, server.get(), cancel);
}

}  // namespace

ForwardRequest parse_forward_request(std::string_view head) {
  ForwardRequest request;
  std::string for_server = read_first_line(take_line(head), request);
  for (std::string_view line = take_line(head); !line.empty(); line = take_line(head)) {
    const auto colon = line.find(':');
    if (colon == line.npos || colon == 0)
      throw bad("'" + printable(line, 20) + "' is not a header");
    const std::string name = ascii_lower(line.substr(0, colon));
    if (name == "proxy-authorization") request.login = trimmed(line.substr(colon + 1));
    if (!contains(kOwnHeaders, name)) for_server += std::string(line) + "\r\n";
  }
  if (!request.connects) request.head = for_server + "Connection: close\r\n\r\n";
  return request;
}

void forward(UniqueFd client, const Forwarding& forwarding, const Cancel& cancel) noexcept try {
  serve(client.get(), forwarding, cancel);
} catch (const std::exception&) {
  // The client sees that its connection ends.
}

}  // namespace fastgpu::http
