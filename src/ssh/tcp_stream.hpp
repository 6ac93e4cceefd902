// A TCP connection that carries a session.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "base/unique_fd.hpp"
#include "ssh/resolver.hpp"
#include "ssh/stream.hpp"

namespace fastgpu::ssh {

/// Tries the addresses of a name one after another.
class TcpStream final : public Stream {
 public:
  /// Connects from the network behind `broker` (base/socket_broker.hpp), or from ours if it is
  /// empty.
  TcpStream(const std::string& address, std::uint16_t port, std::filesystem::path broker)
      : resolution_(address, port), broker_(std::move(broker)) {}

  bool connect() override;
  ssize_t read_some(char* buffer, std::size_t size) override;
  ssize_t write_some(const char* data, std::size_t size) override;
  pollfd wanted() const override;
  void shut() noexcept override;

 private:
  void start_next_address();
  void next_address_after(int error_number);

  Resolution resolution_;
  std::filesystem::path broker_;
  std::size_t next_address_ = 0;
  UniqueFd socket_;
  bool connected_ = false;
  bool write_blocked_ = false;
};

}  // namespace fastgpu::ssh
