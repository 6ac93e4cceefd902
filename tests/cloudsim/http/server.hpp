// The HTTP front on one port, a thread for each connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cloudsim/http/message.hpp"

namespace fastgpu::cloudsim {

class Server {
 public:
  /// Called with the client's address, from many threads at once; what it throws becomes a bare
  /// 500.
  using Handler = std::function<Reply(const std::string& peer, const Request&)>;

  /// Listens on that address of this machine; port 0 takes a free one. Throws ErrorKind::local.
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
