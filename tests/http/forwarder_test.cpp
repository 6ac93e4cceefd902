#include "http/forwarder.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "base/error.hpp"
#include "http/connect.hpp"
#include "support/failure.hpp"
#include "support/sockets.hpp"

namespace fastgpu::http {
namespace {

using namespace std::chrono_literals;
using test::connected_pair;
using test::Ends;
using test::read_all;

void send_text(int fd, const std::string& text) {
  REQUIRE(::send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
}

/// What a client gets for what it sends, and what the server got.
struct Exchange {
  std::string answer;
  std::string received;
  std::string asked_for;
};

Exchange exchange(const std::string& sent, const std::string& said = "",
                  const std::optional<Error>& failure = {}) {
  Ends client = connected_pair();
  Ends server = connected_pair();
  Exchange out;
  const Cancel never;
  const Forwarding forwarding{.login = Secret("Basic right"),
                              .connect = [&](const std::string& host, std::uint16_t port) {
                                out.asked_for = host + " " + std::to_string(port);
                                if (failure) throw Error(*failure);
                                return std::move(server.one);
                              }};
  send_text(client.one.get(), sent);
  ::shutdown(client.one.get(), SHUT_WR);
  send_text(server.other.get(), said);
  ::shutdown(server.other.get(), SHUT_WR);
  forward(std::move(client.other), forwarding, never);
  out.answer = read_all(client.one.get());
  server.one = UniqueFd();
  out.received = read_all(server.other.get());
  return out;
}

sockaddr_storage address(const char* text) {
  sockaddr_storage out{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(out);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(out);
  if (::inet_pton(AF_INET, text, &v4.sin_addr) == 1)
    v4.sin_family = AF_INET;
  else if (::inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
    v6.sin6_family = AF_INET6;
  return out;
}

TEST_SUITE_BEGIN("http/forwarder");

TEST_CASE("CONNECT passes bytes on both ways, what came with it too") {
  const auto done = exchange(
      "CONNECT Index.example:443 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic "
      "right\r\n\r\nhello",
      "there");
  CHECK(done.asked_for == "index.example 443");
  CHECK(done.answer == "HTTP/1.1 200 Connection established\r\n\r\nthere");
  CHECK(done.received == "hello");
}

TEST_CASE("a request with a whole address reaches the server as its own, and is the only one") {
  const auto done = exchange(
      "GET http://i.example:8080/simple/a?b=c HTTP/1.1\r\nHost: i.example:8080\r\n"
      "proxy-authorization: Basic right\r\nAuthorization: Basic mine\r\n"
      "Proxy-Connection: keep-alive\r\nConnection: keep-alive\r\n\r\n",
      "HTTP/1.1 200 OK\r\n\r\nbody");
  CHECK(done.asked_for == "i.example 8080");
  CHECK(done.received ==
        "GET /simple/a?b=c HTTP/1.1\r\nHost: i.example:8080\r\nAuthorization: Basic mine\r\n"
        "Connection: close\r\n\r\n");
  CHECK(done.answer == "HTTP/1.1 200 OK\r\n\r\nbody");
}

TEST_CASE("a client without the password reaches nothing") {
  for (const std::string login : {"", "Proxy-Authorization: Basic wrong\r\n"}) {
    const auto done = exchange("CONNECT i.example:443 HTTP/1.1\r\n" + login + "\r\n");
    CHECK(done.answer.starts_with("HTTP/1.1 407 "));
    CHECK(done.asked_for.empty());
  }
}

TEST_CASE("a client is told why there is no connection") {
  const std::string request =
      "CONNECT i.example:443 HTTP/1.1\r\nProxy-Authorization: Basic right\r\n\r\n";
  CHECK(exchange(request, "", Error(ErrorKind::denied, "not that one"))
            .answer.starts_with("HTTP/1.1 403 Forbidden\r\n"));
  const auto failed = exchange(request, "", Error(ErrorKind::transient, "refused"));
  CHECK(failed.answer.starts_with("HTTP/1.1 502 "));
  CHECK(failed.answer.ends_with("\r\n\r\nrefused\n"));
}

TEST_CASE("what is no request for a proxy is refused") {
  for (const char* head :
       {"GET /simple HTTP/1.1\r\n\r\n", "CONNECT i.example HTTP/1.1\r\n\r\n",
        "CONNECT i.example:0 HTTP/1.1\r\n\r\n", "CONNECT :443 HTTP/1.1\r\n\r\n",
        "CONNECT i.example:99999 HTTP/1.1\r\n\r\n", "GET https://i.example/ HTTP/1.1\r\n\r\n",
        "GET ftp://i.example/ HTTP/1.1\r\n\r\n", "GET http://a@i.example/ HTTP/1.1\r\n\r\n",
        "nonsense\r\n\r\n", "CONNECT i.example:443 SSH/2\r\n\r\n", "\r\n\r\n", "",
        "CONNECT i.example:443 HTTP/1.1\r\nno header\r\n\r\n"}) {
    CAPTURE(head);
    CHECK_THROWS_AS(parse_forward_request(head), Error);
  }
}

TEST_CASE("addresses of the public Internet are told from all others") {
  for (const char* text : {"8.8.8.8", "151.101.0.223", "2606:4700::1", "::ffff:8.8.8.8"}) {
    CAPTURE(text);
    const auto one = address(text);
    CHECK(is_public_address(reinterpret_cast<const sockaddr&>(one)));
    CHECK_FALSE(is_metadata_address(reinterpret_cast<const sockaddr&>(one)));
  }
  for (const char* text : {"127.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.0.1", "100.64.0.1",
                           "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "fd00::1",
                           "::", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1"}) {
    CAPTURE(text);
    const auto one = address(text);
    CHECK_FALSE(is_public_address(reinterpret_cast<const sockaddr&>(one)));
    CHECK_FALSE(is_metadata_address(reinterpret_cast<const sockaddr&>(one)));
  }
  for (const char* text :
       {"169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "100.100.100.200", "168.63.129.16",
        "fd00:ec2::254", "fd20:ce::254", "64:ff9b::a9fe:a9fe"}) {
    CAPTURE(text);
    const auto one = address(text);
    CHECK(is_metadata_address(reinterpret_cast<const sockaddr&>(one)));
  }
}

TEST_CASE("a connection is made to what is allowed, and to nothing else") {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof here;
  REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&here), size) == 0);
  REQUIRE(::listen(listener.get(), 4) == 0);
  REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&here), &size) == 0);
  const std::uint16_t port = ntohs(here.sin_port);
  const Cancel never;

  const auto got = connect_to({"127.0.0.1", port, Addresses::any}, {}, 5s, never);
  CHECK_FALSE(got.is_public);
  const UniqueFd accepted(::accept(listener.get(), nullptr, nullptr));
  send_text(got.socket.get(), "hello");
  std::array<char, 5> text{};
  CHECK(::recv(accepted.get(), text.data(), text.size(), MSG_WAITALL) == 5);

  const auto failure = [&](const Destination& to) {
    return test::failure_of([&] { connect_to(to, {}, 5s, never); });
  };
  CHECK(failure({"127.0.0.1", port, Addresses::public_only}).kind() == ErrorKind::denied);
  CHECK(failure({"169.254.169.254", 80, Addresses::any}).kind() == ErrorKind::denied);
  CHECK(failure({"127.0.0.1", 1, Addresses::any}).kind() == ErrorKind::transient);
  CurlSettings by_proxy;
  by_proxy.environment = [port](const std::string& name) -> std::optional<std::string> {
    if (name != "http_proxy") return std::nullopt;
    return "http://127.0.0.1:" + std::to_string(port);
  };
  for (const char* host : {"169.254.169.254", "2852039166", "0xa9.0xfe.43518", "fe80::1%eth0"})
    CHECK(test::failure_of([&] {
            connect_to({host, 80, Addresses::any}, by_proxy, 5s, never);
          }).kind() == ErrorKind::denied);
  Cancel stopped;
  stopped.request();
  CHECK(test::failure_of([&] {
          connect_to({"127.0.0.1", port, Addresses::any}, {}, 5s, stopped);
        }).kind() == ErrorKind::interrupted);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::http
