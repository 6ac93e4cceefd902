// The way to a host: carrier, handshake, the host's proof, our proof. Nothing here blocks.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "ssh/host.hpp"
#include "ssh/identity.hpp"
#include "ssh/session.hpp"

namespace fastgpu::ssh {

/// How far a connection goes by itself.
enum class Goal : std::uint8_t {
  authenticated,
  host_key,  ///< Stops once the host has proved to own its key, which need not be known.
};

/// Goes through host.jumps, each a connection of its own inside the one before. The identities are
/// borrowed.
class Connection {
 public:
  Connection(const Host& host, Identities& identities, Goal goal = Goal::authenticated);

  /// Goes on as far as it can; true once the goal is reached. Throws Error naming the host:
  /// transient where the network or the host failed, denied where a key was wrong or refused.
  bool advance();

  /// The host has been reached and has proved who it is, so that trying again would change little.
  bool past_handshake() const noexcept { return phase_ > Phase::handshaking; }

  const Host& host() const noexcept { return host_; }
  Session& session() noexcept { return *session_; }
  const Session& session() const noexcept { return *session_; }
  pollfd wanted() const { return session_->wanted(); }
  void woken() { session_->woken(); }
  void flush() { session_->flush(); }

  /// `reason` with the name and place of the host before it.
  Error error(ErrorKind kind, const std::string& reason) const;
  /// What to say where the time for connecting has passed.
  Error timed_out(const std::string& limit) const;
  /// The proven key in its binary form; for Goal::host_key.
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

  const Host host_;  // Who answers at the end of this hop.
  Identities& identities_;
  Goal goal_;
  Phase phase_ = Phase::connecting;
  const Identity* identity_ = nullptr;
  std::unique_ptr<Session> session_;
};

/// "train-3 (10.1.2.3:22)"
std::string place(const Host& host);

}  // namespace fastgpu::ssh
