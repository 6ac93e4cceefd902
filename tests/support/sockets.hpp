// Connected sockets within a test.
#pragma once

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <string>

#include "base/unique_fd.hpp"

namespace fastgpu::test {

struct Ends {
  UniqueFd one;
  UniqueFd other;
};

inline Ends connected_pair() {
  std::array<int, 2> fds{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) == 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

/// Returns all that arrives until the peer has closed its side.
inline std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t count = 0; (count = ::recv(fd, piece.data(), piece.size(), 0)) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(count));
  return text;
}

}  // namespace fastgpu::test
