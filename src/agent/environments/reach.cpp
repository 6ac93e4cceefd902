// `env-reach`: reports whether this node can connect to hosts, before files are downloaded from
// them. `env-tunnel`: carries connections of this node's programs to the process that has started
// it.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <future>
#include <string>
#include <vector>

#include "agent/connect.hpp"
#include "agent/environments/environment_call.hpp"
#include "agent/options.hpp"
#include "agent/subcommands.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "transfer/tunnel.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;

constexpr auto kIndexTimeout = 3s;
constexpr std::array kProxies = {"https_proxy", "HTTPS_PROXY", "http_proxy",
                                 "HTTP_PROXY",  "all_proxy",   "ALL_PROXY"};

bool has_proxy() {
  return std::ranges::any_of(kProxies, [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
  });
}

/// Connects to a numeric address. Returns 0, or the errno.
int connect_to(const std::string& address, std::uint16_t port) {
  const ConnectAttempt made = begin_connection(address, port);
  if (made.failure != EINPROGRESS) return made.failure;
  pollfd waiting{made.socket.get(), POLLOUT, 0};
  if (::poll(&waiting, 1, std::chrono::milliseconds(kIndexTimeout).count()) <= 0) return ETIMEDOUT;
  return result_of_connection(made.socket.get());
}

/// Returns why a connection to `place` ("host:port") fails; "" if it succeeds.
std::string failure_at(const std::string& place) try {
  const auto colon = place.rfind(':');
  std::uint16_t port = 0;
  if (colon != std::string::npos)
    port = leading_number<std::uint16_t>(std::string_view(place).substr(colon + 1)).value_or(0);
  if (port == 0) return "it has no port";
  std::string host = place.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto addresses = addresses_of(host, kIndexTimeout);
  if (addresses.empty()) return "its name cannot be resolved";
  std::string why;
  for (const std::string& address : addresses) {
    const int failure = connect_to(address, port);
    if (failure == 0) return "";
    if (why.empty()) why = std::strerror(failure);
  }
  return why;
} catch (const Error& e) {
  return e.kind() == ErrorKind::timeout ? "its name is not resolved within 3 s" : e.what();
}

UniqueFd listen_here(std::uint16_t& port) {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  constexpr int kQueue = 64;
  if (!listener || ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener.get(), kQueue) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw system_error("listening on this node's loopback address", errno);
  port = ntohs(address.sin_port);
  return listener;
}

}  // namespace

int run_env_reach(Arguments places) {
  return run_call([&] {
    Records answer;
    if (has_proxy()) answer.add("proxied", 1);
    std::vector<std::future<std::string>> failures;
    for (const std::string& place : places)
      failures.push_back(std::async(std::launch::async, failure_at, place));
    for (std::size_t i = 0; i < failures.size(); ++i)
      if (const std::string why = failures[i].get(); !why.empty())
        answer.add("unreached", places[i] + " " + why);
    write_answer(answer);
  });
}

/// Writes its port in one line, and then serves the tunnel.
int run_env_tunnel(Arguments) {
  std::uint16_t port = 0;
  const UniqueFd listener = listen_here(port);
  const std::string line = "\nfastgpu-tunnel " + std::to_string(port) + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return 1;
  const Cancel never;
  transfer::Tunnel(STDIN_FILENO, STDOUT_FILENO, listener.get()).serve(never);
  return 0;
}

}  // namespace fastgpu::agent
