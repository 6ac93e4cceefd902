// User names and passwords in addresses of package indexes: separates them from the address, and
// hides them in texts.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/secret.hpp"

namespace fastgpu::agent {

/// Returns true for an address that has a user name, with or without a password, before its host.
bool has_login(std::string_view address) noexcept;

/// Returns the address without its user name and password.
std::string without_login(std::string_view address);

/// The user name and password of an address, percent-encoded as written.
struct LoginParts {
  std::string user;
  std::string password;
};
/// Returns the login in the address; empty texts if it has none.
LoginParts login_of(std::string_view address);

/// Returns `text` with every "%XX" decoded. A '%' without two hexadecimal digits stays.
std::string percent_decoded(std::string_view text);

/// Returns `text` with "****" in place of the login in every address. Also hides the passwords in
/// `logins`, or their user names without a password.
std::string hide_logins(std::string_view text, std::span<const Secret> logins = {});

}  // namespace fastgpu::agent
