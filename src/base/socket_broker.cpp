#include "base/socket_broker.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.hpp"

namespace fastgpu {
namespace {

namespace fs = std::filesystem;

constexpr int kBacklog = 1024;  // Hundreds of sessions may begin at once.
constexpr time_t kTimeout = 5;

/// The address of a socket whose path may have any length. The path goes through an open descriptor
/// of its directory, which makes it short.
class Address {
 public:
  explicit Address(const fs::path& path)
      : folder_(::open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    const std::string place =
        "/proc/self/fd/" + std::to_string(folder_.get()) + "/" + path.filename().string();
    address_.sun_family = AF_UNIX;
    place.copy(address_.sun_path, sizeof address_.sun_path - 1);
  }

  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address_); }
  static socklen_t size() noexcept { return sizeof(sockaddr_un); }

 private:
  UniqueFd folder_;
  sockaddr_un address_{};
};

UniqueFd unix_socket() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) throw system_error("making a socket", errno);
  return socket;
}

/// A message of one byte that can carry one descriptor.
struct Message {
  char byte = 's';
  iovec piece{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};

  Message() {
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
};

}  // namespace

UniqueFd listen_for_sockets(const fs::path& path) {
  UniqueFd socket = unix_socket();
  ::unlink(path.c_str());
  const Address address(path);
  if (::bind(socket.get(), address.get(), Address::size()) != 0 ||
      ::listen(socket.get(), kBacklog) != 0)
    throw system_error("listening at " + path.string(), errno);
  return socket;
}

UniqueFd connect_to_broker(const fs::path& path) {
  UniqueFd socket = unix_socket();
  const timeval limit{kTimeout, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const Address address(path);
  if (::connect(socket.get(), address.get(), Address::size()) == 0) return socket;
  if (errno != ENOENT && errno != ENOTDIR && errno != ECONNREFUSED)
    throw system_error("connecting to " + path.string(), errno);
  return {};
}

bool send_socket(const UniqueFd& client) noexcept {
  const UniqueFd handed(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!handed) return false;
  Message message;
  cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = handed.get();
  std::memcpy(CMSG_DATA(control), &fd, sizeof fd);
  return ::sendmsg(client.get(), &message.header, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

UniqueFd receive_socket(const UniqueFd& broker) {
  Message message;
  ssize_t size = 0;
  do
    size = ::recvmsg(broker.get(), &message.header, MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  const cmsghdr* const control = size == 1 ? CMSG_FIRSTHDR(&message.header) : nullptr;
  if (control == nullptr || control->cmsg_type != SCM_RIGHTS) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(control), sizeof fd);
  return UniqueFd(fd);
}

}  // namespace fastgpu
