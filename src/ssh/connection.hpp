// A connection to a host: stream, handshake, the proof of the host's identity, and our login. All
// calls are non-blocking.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "ssh/host.hpp"
#include "ssh/identity.hpp"
#include "ssh/jump_stream.hpp"
#include "ssh/session.hpp"

namespace fastgpu::ssh {

/// The point at which a connection is complete.
enum class Goal : std::uint8_t {
  authenticated,
  host_key,  ///< The host has proved to own its key, which need not be known.
};

/// Connects through host.jumps; each jump is a connection of its own inside the previous one.
/// Borrows the identities.
class Connection final : public JumpConnection {
 public:
  Connection(const Host& host, Identities& identities, Goal goal = Goal::authenticated);

  /// Proceeds as far as possible. Returns true once the goal is reached. Throws an Error that names
  /// the host: transient if the network or the host failed, denied if a key was wrong or refused.
  bool advance() override;

  /// Returns true once the host has proved its identity. After that, another attempt would not
  /// help.
  bool past_handshake() const noexcept { return phase_ > Phase::handshaking; }

  const Host& host() const noexcept { return host_; }
  Session& session() noexcept override { return *session_; }
  const Session& session() const noexcept override { return *session_; }
  pollfd wanted() const { return session_->wanted(); }
  void woken() { session_->woken(); }
  void flush() { session_->flush(); }

  Error error(ErrorKind kind, const std::string& reason) const override;
  /// Returns the error for a connection that was not made within `limit`.
  Error timed_out(const std::string& limit) const;
  /// Returns the proven key in its binary form; for Goal::host_key.
  std::string host_key_blob() const;

 private:
  enum class Phase : std::uint8_t { connecting, handshaking, authenticating, ready };

  Connection(const Host& host, std::size_t hop, Identities& identities, Goal goal);

  void start_hop();
  bool advance_phase();
  bool handshake();
  void check_host_key() const;
  const Identity& identity() const;
  bool authenticate();
  Error handshake_error(int code) const;
  std::string unmatched() const;

  const Host host_;  // The host at the end of this hop.
  Identities& identities_;
  Goal goal_;
  Phase phase_ = Phase::connecting;
  const Identity* identity_ = nullptr;
  std::unique_ptr<Session> session_;
};

}  // namespace fastgpu::ssh
