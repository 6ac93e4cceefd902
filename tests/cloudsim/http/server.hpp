// The HTTP server on one port, with a thread for each connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cloudsim/http/message.hpp"

namespace fastgpu::cloudsim {

class Server {
 public:
  /// Handles a request, on many threads at once. `peer` is the client's address. An exception
  /// becomes a bare status 500.
  using Handler = std::function<Reply(const std::string& peer, const Request&)>;

  /// Listens at an address of this machine; port 0 chooses a free port. Throws ErrorKind::local.
  Server(const std::string& address, std::uint16_t port, Handler handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fastgpu::cloudsim
