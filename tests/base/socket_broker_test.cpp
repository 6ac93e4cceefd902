#include "base/socket_broker.hpp"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>

#include "support/temp_directory.hpp"

using namespace fastgpu;

namespace {

struct Met {
  UniqueFd client;  ///< Our end.
  UniqueFd broker;  ///< Theirs.
};

Met meet(const std::filesystem::path& path, const UniqueFd& listener) {
  UniqueFd broker = connect_to_broker(path);
  return {UniqueFd(::accept(listener.get(), nullptr, nullptr)), std::move(broker)};
}

}  // namespace

TEST_CASE("a broker hands out TCP sockets that are not connected yet") {
  const test::TempDirectory folder;
  const auto path = folder.path() / "broker";
  const UniqueFd listener = listen_for_sockets(path);
  const Met met = meet(path, listener);
  CHECK(send_socket(met.client));
  const UniqueFd taken = receive_socket(met.broker);
  REQUIRE(taken);
  int protocol = 0;
  socklen_t size = sizeof protocol;
  CHECK(::getsockopt(taken.get(), SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0);
  CHECK(protocol == IPPROTO_TCP);
  sockaddr_in peer{};
  size = sizeof peer;
  CHECK(::getpeername(taken.get(), reinterpret_cast<sockaddr*>(&peer), &size) != 0);
}

TEST_CASE("a broker may lie deeper than a socket's address is long") {
  const test::TempDirectory folder;
  const auto deep = folder.path() / std::string(200, 'a') / std::string(200, 'b');
  std::filesystem::create_directories(deep);
  const UniqueFd listener = listen_for_sockets(deep / "broker");
  CHECK(meet(deep / "broker", listener).broker);
}

TEST_CASE("nobody answers where there is no broker, or one that is shut") {
  const test::TempDirectory folder;
  const auto path = folder.path() / "broker";
  CHECK_FALSE(connect_to_broker(path));
  CHECK_FALSE(connect_to_broker(folder.path() / "no" / "folder"));
  { const UniqueFd listener = listen_for_sockets(path); }
  CHECK_FALSE(connect_to_broker(path));
  const UniqueFd again = listen_for_sockets(path);  // What is left of the old one is no hindrance.
  CHECK(connect_to_broker(path));
}

TEST_CASE("a broker that closes without a word has handed out nothing") {
  const test::TempDirectory folder;
  const auto path = folder.path() / "broker";
  const UniqueFd listener = listen_for_sockets(path);
  Met met = meet(path, listener);
  met.client = UniqueFd();
  CHECK_FALSE(receive_socket(met.broker));
}

TEST_CASE("a client who has gone is noticed") {
  const test::TempDirectory folder;
  const auto path = folder.path() / "broker";
  const UniqueFd listener = listen_for_sockets(path);
  Met met = meet(path, listener);
  met.broker = UniqueFd();
  CHECK_FALSE(send_socket(met.client));
}
