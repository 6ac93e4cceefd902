#include "transfer/tunnel.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "support/sockets.hpp"

namespace fastgpu::transfer {
namespace {

using test::connected_pair;
using test::Ends;
using test::read_all;

/// A listener on the loopback address, and clients for it.
class Listener {
 public:
  Listener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    REQUIRE(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address_), size) == 0);
    REQUIRE(::listen(fd_.get(), 256) == 0);
    REQUIRE(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address_), &size) == 0);
  }
  int get() const { return fd_.get(); }
  UniqueFd client() const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_) ==
            0);
    return fd;
  }

 private:
  UniqueFd fd_;
  sockaddr_in address_{};
};

void send_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = ::send(fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (count <= 0) return;
    at += static_cast<std::size_t>(count);
  }
}

/// Two ends of a tunnel, each served by a thread. Every stream leads to `at_far_end`.
class Both {
 public:
  explicit Both(std::function<void(UniqueFd)> at_far_end) : at_far_end_(std::move(at_far_end)) {
    near_ = std::jthread(
        [this] { Tunnel(line_.one.get(), line_.one.get(), listener.get()).serve(stop_); });
    far_ = std::jthread([this] {
      Tunnel(line_.other.get(), line_.other.get(), -1, [this] { return opened(); }).serve(stop_);
    });
  }
  ~Both() {
    stop_.request();
    far_.join();
    near_.join();
  }
  Both(const Both&) = delete;
  Both& operator=(const Both&) = delete;

  Listener listener;

 private:
  UniqueFd opened() {
    Ends ends = connected_pair();
    servers_.emplace_back(
        [this, end = std::move(ends.one)]() mutable { at_far_end_(std::move(end)); });
    return std::move(ends.other);
  }

  std::function<void(UniqueFd)> at_far_end_;
  Ends line_ = connected_pair();
  Cancel stop_;
  std::vector<std::jthread> servers_;
  std::jthread near_;
  std::jthread far_;
};

std::string frame(char kind, std::uint32_t id, const std::string& payload = "",
                  std::optional<std::uint32_t> length = {}) {
  std::string text(1, kind);
  for (const std::uint32_t number :
       {id, length.value_or(static_cast<std::uint32_t>(payload.size()))})
    for (const unsigned shift : {24U, 16U, 8U, 0U})
      text += static_cast<char>(number >> shift & 255U);
  return text + payload;
}

TEST_SUITE_BEGIN("transfer/tunnel");

TEST_CASE("many streams carry what is more than a window both ways, and end on their own") {
  Both both([](UniqueFd fd) { send_all(fd.get(), read_all(fd.get())); });
  std::vector<std::jthread> clients;
  std::array<bool, 9> right{};
  for (std::size_t i = 0; i < right.size(); ++i)
    clients.emplace_back([&, i, client = both.listener.client()] {
      std::string sent(kTunnelWindow * (i % 3) + i * 1000, static_cast<char>('a' + i));
      send_all(client.get(), sent);
      ::shutdown(client.get(), SHUT_WR);
      right[i] = read_all(client.get()) == sent;
    });
  clients.clear();
  for (const bool one : right)
    CHECK(one);
}

TEST_CASE("a stream that takes nothing holds up no other") {
  Both both([](UniqueFd fd) {
    std::array<char, 1> kind{};
    if (::recv(fd.get(), kind.data(), 1, 0) != 1) return;
    send_all(fd.get(), std::string(kind[0] == 'x' ? 8 * kTunnelWindow : 100'000, 'y'));
  });
  const UniqueFd lazy = both.listener.client();
  send_all(lazy.get(), "x");
  for (int i = 0; i < 20; ++i) {
    const UniqueFd client = both.listener.client();
    send_all(client.get(), "s");
    CHECK(read_all(client.get()).size() == 100'000);
  }
}

TEST_CASE("a client whose stream is refused sees its end") {
  const Listener listener;
  Ends line = connected_pair();
  Cancel stop;
  std::jthread near([&] { Tunnel(line.one.get(), line.one.get(), listener.get()).serve(stop); });
  std::jthread far([&] {
    Tunnel(line.other.get(), line.other.get(), -1, [] { return UniqueFd(); }).serve(stop);
  });
  const UniqueFd client = listener.client();
  CHECK(read_all(client.get()).empty());
  stop.request();
}

TEST_CASE("what no tunnel sends ends it") {
  const std::string open = frame('o', 1);
  std::string too_much = open;
  for (std::size_t bytes = 0; bytes <= kTunnelWindow; bytes += 60'000)
    too_much += frame('d', 1, std::string(60'000, 'x'));
  for (const std::string& text :
       {frame('x', 1), frame('o', 0), open + open, open + frame('c', 1, "ab"),
        open + frame('c', 1, std::string(4, '\xff')), frame('d', 1, "", 1U << 30U),
        open + frame('e', 1) + frame('d', 1, "x"), too_much}) {
    CAPTURE(text.substr(0, 20));
    Ends line = connected_pair();
    Cancel stop;
    std::vector<Ends> held;
    std::jthread writer([&] { send_all(line.one.get(), text); });
    try {
      Tunnel(line.other.get(), line.other.get(), -1, [&] {
        held.push_back(connected_pair());
        return std::move(held.back().one);
      }).serve(stop);
      FAIL("it is served");
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::remote);
    }
    line.other = UniqueFd();
    ::shutdown(line.one.get(), SHUT_RDWR);
  }
}

TEST_CASE("frames of a stream that is not there any more are passed over") {
  Ends line = connected_pair();
  Cancel stop;
  send_all(line.one.get(),
           frame('d', 7, "x") + frame('e', 7) + frame('r', 7) + frame('c', 7, "abcd"));
  ::shutdown(line.one.get(), SHUT_WR);
  Tunnel(line.other.get(), line.other.get(), -1, [] { return UniqueFd(); }).serve(stop);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
