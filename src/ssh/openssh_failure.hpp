// Finds out from the log of OpenSSH's client whether a connection was made, broke or failed, and
// why. Pure.
#pragma once

#include <string_view>

#include "base/error.hpp"
#include "ssh/host.hpp"

namespace fastgpu::ssh {

/// Returns true once the client's log (LogLevel VERBOSE) shows that we are logged in.
bool openssh_logged_in(std::string_view log);

/// Returns true if the log shows that a connection broke.
bool openssh_lost(std::string_view log);

/// Returns true if the host closed the connection without a message.
bool openssh_turned_away(std::string_view log);

/// Returns why the login failed, from the client's log and from the stderr of the client and its
/// proxies. The kind is denied for keys and algorithms, usage for the user's configuration, else
/// transient.
Error openssh_failure(const Host& host, std::string_view log, std::string_view errors);

}  // namespace fastgpu::ssh
