#include "ssh/resolver.hpp"

#include <netdb.h>
#include <netinet/in.h>

#include <atomic>
#include <cstring>
#include <system_error>
#include <thread>

#include "base/c_handle.hpp"
#include "base/cancel.hpp"
#include "base/error.hpp"

namespace fastgpu::ssh {

struct Resolution::Shared {
  std::string address;
  std::uint16_t port = 0;
  int failure = 0;
  std::vector<SocketAddress> found{};
  std::unique_ptr<Cancel> finished{};  // Null if the answer was known from the start.
};

namespace {

using AddressList = CHandle<addrinfo, freeaddrinfo>;

int look_up(const std::string& address, std::uint16_t port, int flags,
            std::vector<SocketAddress>& found) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* head = nullptr;
  const int failure = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &head);
  if (failure != 0) return failure;
  const AddressList list(head);
  for (const addrinfo* item = head; item != nullptr; item = item->ai_next) {
    SocketAddress one;
    std::memcpy(&one.storage, item->ai_addr, item->ai_addrlen);
    one.size = item->ai_addrlen;
    found.push_back(one);
  }
  return 0;
}

}  // namespace

Resolution::Resolution(const std::string& address, std::uint16_t port)
    : shared_(std::make_shared<Shared>(Shared{.address = address, .port = port})) {
  if (look_up(address, port, AI_NUMERICHOST, shared_->found) == 0) return;
  shared_->finished = std::make_unique<Cancel>();
  try {
    std::thread([shared = shared_] {
      shared->failure = look_up(shared->address, shared->port, 0, shared->found);
      shared->finished->request();
    }).detach();
  } catch (const std::system_error&) {
    throw Error(ErrorKind::capacity, "no thread left to look up " + address);
  }
}

bool Resolution::done() const {
  if (shared_->finished && !shared_->finished->requested()) return false;
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

int Resolution::fd() const noexcept {
  return shared_->finished ? shared_->finished->fd() : -1;
}

const std::vector<SocketAddress>& Resolution::addresses() const {
  if (shared_->failure == 0) return shared_->found;
  const ErrorKind kind =
      shared_->failure == EAI_NONAME ? ErrorKind::not_found : ErrorKind::transient;
  throw Error(kind, "the name " + shared_->address +
                        " has no address: " + ::gai_strerror(shared_->failure));
}

}  // namespace fastgpu::ssh
