// The HTTP front on a loopback port, a thread for each connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "cloudsim/http/message.hpp"

namespace fastgpu::cloudsim {

class Server {
 public:
  /// Called from many threads at once; what it throws becomes a bare 500.
  using Handler = std::function<Reply(const Request&)>;

  /// Listens on 127.0.0.1; port 0 takes a free one. Throws ErrorKind::local.
  Server(std::uint16_t port, Handler handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fastgpu::cloudsim
