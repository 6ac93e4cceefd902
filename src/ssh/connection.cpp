#include "ssh/connection.hpp"

#include <libssh2.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "base/contains.hpp"
#include "base/join.hpp"
#include "ssh/algorithms.hpp"
#include "ssh/host_key_failure.hpp"
#include "ssh/tcp_stream.hpp"
#include "ssh/wire.hpp"

namespace fastgpu::ssh {
namespace {

/// Signs with the Identity behind *abstract; libssh2 frees the signature.
extern "C" int sign_callback(LIBSSH2_SESSION*, unsigned char** signature, std::size_t* size,
                             const unsigned char* data, std::size_t data_size,
                             void** abstract) noexcept try {
  const auto* identity = static_cast<const Identity*>(*abstract);
  const std::string made = identity->sign({reinterpret_cast<const char*>(data), data_size});
  *signature = static_cast<unsigned char*>(std::malloc(made.size()));
  if (*signature == nullptr) return -1;
  std::memcpy(*signature, made.data(), made.size());
  *size = made.size();
  return 0;
} catch (...) {
  return -1;
}

std::unique_ptr<Stream> direct(const Host& host) {
  return std::make_unique<TcpStream>(host.address, host.port, host.socket_broker);
}

std::string known_fingerprints(std::span<const std::string> blobs) {
  std::string list;
  for (const std::string& blob : blobs)
    append_item(list, blob_fingerprint(blob), " or ");
  return list;
}

std::vector<std::string> known_blobs(const Host& host) try {
  std::vector<std::string> blobs;
  for (const std::string& line : host.host_keys)
    blobs.push_back(public_key_blob(line));
  return blobs;
} catch (const Error& e) {
  throw e.during(place(host) + ": its known host key");
}

}  // namespace

Connection::Connection(const Host& host, Identities& identities, Goal goal)
    : Connection(host, host.jumps.size(), identities, goal) {}

/// Connects to host.jumps[hop], or to the host itself if `hop` is past the last jump.
Connection::Connection(const Host& host, std::size_t hop, Identities& identities, Goal goal)
    : host_(hop < host.jumps.size() ? host.jumps[hop] : host),
      identities_(identities),
      goal_(goal) {
  std::unique_ptr<Stream> stream;
  try {
    if (hop == 0) {
      stream = direct(host_);
    } else {
      std::unique_ptr<Connection> jump(
          new Connection(host, hop - 1, identities, Goal::authenticated));
      stream = std::make_unique<JumpStream>(std::move(jump), host_);
    }
  } catch (const Error& e) {
    throw e.during(place(host_));
  }
  session_ = std::make_unique<Session>(std::move(stream));
}

Error Connection::error(ErrorKind kind, const std::string& reason) const {
  return {kind, place(host_) + ": " + reason};
}

Error Connection::timed_out(const std::string& limit) const {
  switch (phase_) {
    case Phase::connecting:
      return error(ErrorKind::transient, "no connection within " + limit);
    case Phase::handshaking:
      return error(ErrorKind::transient, "no SSH handshake within " + limit);
    case Phase::authenticating:
    case Phase::ready:
      return error(ErrorKind::transient, "no answer to our login within " + limit);
  }
  return error(ErrorKind::internal, "a phase without a name");
}

bool Connection::advance() {
  while (phase_ != Phase::ready)
    if (!advance_phase()) return false;
  return true;
}

bool Connection::advance_phase() {
  switch (phase_) {
    case Phase::connecting:
      start_hop();
      return phase_ != Phase::connecting;
    case Phase::handshaking:
      if (!handshake()) return false;
      phase_ = goal_ == Goal::host_key ? Phase::ready : Phase::authenticating;
      return true;
    case Phase::authenticating:
      if (!authenticate()) return false;
      phase_ = Phase::ready;
      return true;
    case Phase::ready:
      return true;
  }
  return false;
}

void Connection::start_hop() {
  try {
    if (session_->stream().connect()) phase_ = Phase::handshaking;
  } catch (const Error& e) {
    throw e.during(place(host_));
  }
}

bool Connection::handshake() {
  // libssh2 uses this number only for its own polling, which is not used here, but it must not be
  // -1.
  const int code = libssh2_session_handshake(session_->get(), session_->wanted().fd);
  if (code == LIBSSH2_ERROR_EAGAIN) return false;
  if (code != 0) throw handshake_error(code);
  if (goal_ == Goal::authenticated) check_host_key();
  return true;
}

Error Connection::handshake_error(int code) const {
  if (session_->lost())
    return error(ErrorKind::transient, "connection closed during the handshake");
  // libssh2 1.10 returns KEX_FAILURE if the lists have no algorithm in common.
  if (code == LIBSSH2_ERROR_KEY_EXCHANGE_FAILURE || code == LIBSSH2_ERROR_METHOD_NONE ||
      code == LIBSSH2_ERROR_KEX_FAILURE)
    return error(ErrorKind::denied, "no common algorithms: " + unmatched());
  return error(ErrorKind::transient, "SSH handshake: " + session_->last_error());
}

std::string Connection::unmatched() const {
  const std::string lists = unmatched_algorithms(session_->first_bytes());
  return lists.empty() ? session_->last_error() : lists;
}

std::string Connection::host_key_blob() const {
  std::size_t size = 0;
  int type = 0;
  const char* blob = libssh2_session_hostkey(session_->get(), &size, &type);
  return blob == nullptr ? std::string() : std::string(blob, size);
}

void Connection::check_host_key() const {
  const std::string shown = host_key_blob();
  const std::vector<std::string> known = known_blobs(host_);
  if (known.empty())
    throw error(ErrorKind::denied,
                "its host key is not known; it shows " + blob_fingerprint(shown));
  if (!contains(known, shown))
    throw error(ErrorKind::denied, "its host key is " + blob_fingerprint(shown) + " and not " +
                                       known_fingerprints(known) +
                                       foreign_key_text(host_.key_source));
}

const Identity& Connection::identity() const {
  try {
    return identities_.at(host_.identity);
  } catch (const Error& e) {
    throw e.during(place(host_));
  }
}

bool Connection::authenticate() {
  if (identity_ == nullptr) identity_ = &identity();
  const std::string& blob = identity_->public_blob();
  void* abstract = const_cast<Identity*>(identity_);
  const int code = libssh2_userauth_publickey(session_->get(), host_.user.c_str(),
                                              reinterpret_cast<const unsigned char*>(blob.data()),
                                              blob.size(), sign_callback, &abstract);
  if (code == LIBSSH2_ERROR_EAGAIN) return false;
  if (code == 0) return true;
  if (session_->lost()) throw error(ErrorKind::transient, "connection closed while logging in");
  throw error(ErrorKind::denied, "login as " + host_.user + " with the key " +
                                     host_.identity.string() + " (" + blob_fingerprint(blob) +
                                     ") is refused");
}

}  // namespace fastgpu::ssh
