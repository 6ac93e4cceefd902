// User names and passwords in addresses of package indexes: separated from the address, and kept
// out of texts.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/secret.hpp"

namespace fastgpu::agent {

/// Returns true for an address with a user name, or with a user name and a password, before its
/// host.
bool has_login(std::string_view address) noexcept;

/// Returns the address without its user name and password.
std::string without_login(std::string_view address);

/// The parts of an address before and behind its "user:password@". Percent-encoded as written.
struct LoginParts {
  std::string user;
  std::string password;
};
/// Returns empty texts for an address without them.
LoginParts login_of(std::string_view address);

/// Returns `text` with every "%2F" decoded; a '%' without two hexadecimal digits stays.
std::string percent_decoded(std::string_view text);

/// Returns `text` with "****" in place of the user name and password of every address in it. It
/// also replaces the passwords of `logins`, or their user names if they have no password.
std::string hide_logins(std::string_view text, std::span<const Secret> logins = {});

}  // namespace fastgpu::agent
