#include "agent/connect.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <sstream>

#include "base/contains.hpp"
#include "process/capture.hpp"

namespace fastgpu::agent {
namespace {

constexpr int kBacklog = 1'024;

template <class Address>
UniqueFd listen_at(int family, const Address& address) {
  UniqueFd listener(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return {};
  const int no = 0;
  if (family == AF_INET6) ::setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.get(), kBacklog) != 0)
    return {};
  return listener;
}

}  // namespace

sockaddr_storage parse_address(const std::string& address, std::uint16_t port) {
  sockaddr_storage out{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(out);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(out);
  if (::inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
  } else if (::inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
  }
  return out;
}

std::vector<std::string> addresses_of(const std::string& host, std::chrono::milliseconds timeout) {
  const Cancel never;
  const auto done =
      process::capture({.argv = {"getent", "ahosts", "--", host}}, {.timeout = timeout}, never);
  std::vector<std::string> addresses;
  std::istringstream lines(done.out);
  for (std::string line; std::getline(lines, line);) {
    const std::string address = line.substr(0, line.find(' '));
    if (!contains(addresses, address)) addresses.push_back(address);
  }
  return addresses;
}

ConnectAttempt begin_connection(const std::string& address, std::uint16_t port) {
  const sockaddr_storage to = parse_address(address, port);
  ConnectAttempt made;
  made.socket =
      UniqueFd(::socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!made.socket ||
      ::connect(made.socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
    made.failure = errno;
  return made;
}

int result_of_connection(int socket) {
  int failure = 0;
  socklen_t size = sizeof failure;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &failure, &size) == 0 ? failure : errno;
}

UniqueFd listen_on(std::uint16_t port) {
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_any;
  v6.sin6_port = htons(port);
  if (UniqueFd listener = listen_at(AF_INET6, v6)) return listener;
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(INADDR_ANY);
  v4.sin_port = htons(port);
  return listen_at(AF_INET, v4);
}

}  // namespace fastgpu::agent
