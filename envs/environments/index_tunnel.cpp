#include "envs/environments/index_tunnel.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <tuple>

#include "base/base64.hpp"
#include "base/numbers.hpp"
#include "base/random.hpp"
#include "http/forwarder.hpp"
#include "remote/agent.hpp"
#include "ssh/interactive.hpp"
#include "ssh/wire.hpp"
#include "transfer/sha256.hpp"
#include "transfer/tunnel.hpp"

namespace fastgpu::envs {
namespace {

using namespace std::chrono_literals;

constexpr const char* kUser = "fastgpu";
constexpr auto kConnectLimit = 10s;

std::pair<UniqueFd, UniqueFd> make_pair_of_sockets() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0)
    throw system_error("making a pair of sockets", errno);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

}  // namespace

IndexTunnel::IndexTunnel(const NodeAccess& access, const ssh::Host& host, TunnelPlaces places,
                         http::CurlSettings network)
    : places_(std::move(places)), network_(std::move(network)), password_(random_hex(32)) {
  std::tie(ours_, sessions_) = make_pair_of_sockets();
  session_ = std::jthread([this, &access, host] { hold_session(access, host); });
  try {
    port_ = read_port();
  } catch (const Error&) {
    stop_.request();
    session_.join();
    if (failure_) std::rethrow_exception(failure_);
    throw;
  }
  server_ = std::jthread([this] { serve(); });
}

IndexTunnel::~IndexTunnel() {
  stop_.request();
}

void IndexTunnel::hold_session(const NodeAccess& access, const ssh::Host& host) {
  const std::vector<std::string> words = {"env-tunnel"};
  const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  ssh::InteractiveOptions options{.command = remote::agent_command(access.agent.hash, words),
                                  .in = sessions_.get(),
                                  .out = sessions_.get(),
                                  .err = nowhere.get()};
  if (access.options.connect_timeout) options.connect_timeout = *access.options.connect_timeout;
  try {
    ssh::run_interactive(host, options, stop_);
  } catch (const Error&) {
    failure_ = std::current_exception();
  }
  ::shutdown(sessions_.get(), SHUT_RDWR);
}

/// Reads byte by byte: the bytes behind the line belong to the tunnel. Start-up files of the login
/// shell may have written lines before it.
std::uint16_t IndexTunnel::read_port() const {
  constexpr std::string_view kMark = "fastgpu-tunnel ";
  constexpr std::size_t kMostNoise = 64UL << 10;
  std::string line;
  std::uint16_t port = 0;
  char c = 0;
  for (std::size_t count = 0; count < kMostNoise && port == 0; ++count) {
    ssize_t got = 0;
    do
      got = ::recv(ours_.get(), &c, 1, 0);
    while (got < 0 && errno == EINTR);
    if (got <= 0) break;
    if (c != '\n') {
      line += c;
      continue;
    }
    if (line.starts_with(kMark))
      port = leading_number<std::uint16_t>(std::string_view(line).substr(kMark.size())).value_or(0);
    line.clear();
  }
  if (port == 0) throw Error(ErrorKind::remote, "the node did not open a tunnel");
  return port;
}

Secret IndexTunnel::proxy() const {
  return Secret("http://" + std::string(kUser) + ":" + password_ +
                "@127.0.0.1:" + std::to_string(port_));
}

void IndexTunnel::serve() {
  try {
    transfer::Tunnel(ours_.get(), ours_.get(), -1, [this] { return open_stream(); }).serve(stop_);
  } catch (const Error&) {
    // The node's programs see their connections end, and report it.
  }
  stop_.request();
}

/// Opens a stream; each client has a thread of its own, which blocks.
UniqueFd IndexTunnel::open_stream() {
  clients_.remove_if([](const Client& client) { return client.is_over.load(); });
  std::pair<UniqueFd, UniqueFd> ends = make_pair_of_sockets();
  Client& client = clients_.emplace_back();
  client.thread = std::jthread([this, &client, end = std::move(ends.second)]() mutable {
    serve_client(std::move(end));
    client.is_over = true;
  });
  return std::move(ends.first);
}

void IndexTunnel::serve_client(UniqueFd client) {
  const http::Forwarding forwarding{
      .login = Secret("Basic " + base64_encode(std::string(kUser) + ":" + password_)),
      .connect = [this](const std::string& host, std::uint16_t port) {
        return connect(host, port);
      }};
  http::forward(std::move(client), forwarding, stop_);
}

UniqueFd IndexTunnel::connect(const std::string& host, std::uint16_t port) {
  const std::string place = host + ":" + std::to_string(port);
  const auto found = places_.find(place);
  if (found == places_.end()) {
    const std::scoped_lock lock(mutex_);
    refused_.insert(place);
    throw Error(ErrorKind::denied, "fastgpu connects only to the addresses of the indexes, and '" +
                                       place + "' is not one of them: --fetch-host " + place +
                                       " allows it");
  }
  return http::connect_to({.host = host, .port = port, .addresses = found->second}, network_,
                          kConnectLimit, stop_)
      .socket;
}

std::vector<std::string> IndexTunnel::refused() const {
  const std::scoped_lock lock(mutex_);
  return {refused_.begin(), refused_.end()};
}

}  // namespace fastgpu::envs
