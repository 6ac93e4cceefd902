// User names and passwords for package indexes and channels: kept apart from their addresses, and
// never part of an environment, its lock or a build.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.hpp"

namespace fastgpu::envs {

/// The logins that a user has given; earlier ones come before later ones.
class IndexLogins {
 public:
  /// Adds an address with a user name, "https://user:password@host/simple". It applies to that
  /// address and those below it on the same host and port. Throws ErrorKind::usage, without the
  /// value, for another text.
  void add(const Secret& address);
  /// Adds the entries of a netrc file, each for its host at every port. `source` names it in
  /// errors. Throws ErrorKind::usage for malformed text; "macdef" and accounts are left out.
  void add_netrc(const Secret& text, const std::string& source);
  void add(const IndexLogins& others);

  /// Returns each address with a known login, including it: for the programs that fetch.
  std::vector<Secret> for_addresses(std::span<const std::string> addresses) const;

  /// Returns the value of the header Authorization for a request to that address; absent without a
  /// login for its host and port.
  std::optional<Secret> authorization(const std::string& address) const;

  bool empty() const noexcept { return known_.empty(); }

 private:
  struct Login {
    std::string place;  ///< "https://host:port/path/" or, of a netrc file, "host".
    bool any_port = false;
    Secret user_and_password;  ///< Percent-encoded: "user:password".
  };
  const Login* find(const std::string& address) const;

  std::vector<Login> known_;
};

/// Returns "https://host:port/" of an address without a login.
std::string root_of(std::string_view address);

}  // namespace fastgpu::envs
