// A channel through a jump host that carries another session.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "ssh/host.hpp"
#include "ssh/session.hpp"
#include "ssh/stream.hpp"

namespace fastgpu::ssh {

/// The connection to a jump host, which Connection implements.
class JumpConnection {
 public:
  virtual ~JumpConnection() = default;
  /// Proceeds as far as possible. Returns true once channels can be opened. Throws an Error that
  /// names the host.
  virtual bool advance() = 0;
  virtual Session& session() noexcept = 0;
  virtual const Session& session() const noexcept = 0;
  /// Returns an error with the host's name and place before `reason`.
  virtual Error error(ErrorKind kind, const std::string& reason) const = 0;
};

class JumpStream final : public Stream {
 public:
  JumpStream(std::unique_ptr<JumpConnection> jump, const Host& target)
      : jump_(std::move(jump)), target_(target) {}

  bool connect() override;
  ssize_t read_some(char* buffer, std::size_t size) override;
  ssize_t write_some(const char* data, std::size_t size) override;
  void woken() override { jump_->session().woken(); }
  void flush() override { jump_->session().flush(); }
  pollfd wanted() const override { return jump_->session().wanted(); }
  void shut() noexcept override { channel_.reset(); }

 private:
  std::unique_ptr<JumpConnection> jump_;
  const Host& target_;
  Channel channel_;  // Destroyed before its session.
};

}  // namespace fastgpu::ssh
