// A channel through a jump host that carries another session.
#pragma once

#include <memory>
#include <string>

#include "ssh/connection.hpp"
#include "ssh/stream.hpp"

namespace fastgpu::ssh {

class JumpStream final : public Stream {
 public:
  JumpStream(std::unique_ptr<Connection> jump, const Host& target)
      : jump_(std::move(jump)), target_(target) {}

  bool connect() override;
  ssize_t read_some(char* buffer, std::size_t size) override;
  ssize_t write_some(const char* data, std::size_t size) override;
  void woken() override { jump_->woken(); }
  void flush() override { jump_->flush(); }
  pollfd wanted() const override { return jump_->wanted(); }
  void shut() noexcept override { channel_.reset(); }

 private:
  std::unique_ptr<Connection> jump_;
  const Host& target_;
  Channel channel_;  // Destroyed before its session.
};

}  // namespace fastgpu::ssh
