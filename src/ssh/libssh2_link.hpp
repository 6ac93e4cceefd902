// A command over a libssh2 channel, on a connection that may be kept.
#pragma once

#include "ssh/connection.hpp"
#include "ssh/link.hpp"

namespace fastgpu::ssh {

class Libssh2Link final : public Link {
 public:
  /// `line` is the command line for the login shell.
  Libssh2Link(std::unique_ptr<Connection> connection, std::string line)
      : connection_(std::move(connection)), line_(std::move(line)) {}

  bool connect() override { return connection_->advance(); }
  bool turned_away() const override { return !connection_->past_handshake() && lost(); }
  bool lost() const override { return connection_->session().lost(); }
  bool open() override;
  bool start() override;
  std::size_t read(Output from, std::span<char> buffer) override;
  bool at_end() const override;
  bool can_write() override { return connection_->session().can_send(); }
  std::optional<std::size_t> write(std::string_view bytes) override;
  void close_input() override;
  std::optional<Exit> closed() override;
  pollfd wanted() const override { return connection_->wanted(); }
  void woken() override { connection_->woken(); }
  void flush() override { connection_->flush(); }
  Error error(ErrorKind kind, const std::string& reason) const override {
    return connection_->error(kind, reason);
  }
  Error timed_out(const std::string& limit) const override { return connection_->timed_out(limit); }
  std::unique_ptr<Connection> take_connection() override;

 private:
  Error connection_lost() const;

  std::unique_ptr<Connection> connection_;
  Channel channel_;   // Destroyed before the connection.
  std::string line_;  // Unchanged until it has been sent.
};

/// Returns how the command on `channel` ended; the other side must have closed the channel.
Exit exit_of(_LIBSSH2_CHANNEL* channel);

}  // namespace fastgpu::ssh
