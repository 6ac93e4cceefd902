// Whether a connection of OpenSSH's client was made, broke or failed, and why. Pure.
#pragma once

#include <string_view>

#include "base/error.hpp"
#include "ssh/host.hpp"

namespace fastgpu::ssh {

/// Returns true once the client's log (LogLevel VERBOSE) shows that the host has let us in.
bool openssh_logged_in(std::string_view log);

/// Returns true if the log shows that a connection broke.
bool openssh_lost(std::string_view log);

/// Returns true if the host closed the connection before it said a word.
bool openssh_turned_away(std::string_view log);

/// Returns why the client did not get in, from its log and what it and its proxies wrote to the
/// error output: denied for keys and algorithms, usage for its configuration, else transient.
Error openssh_failure(const Host& host, std::string_view log, std::string_view errors);

}  // namespace fastgpu::ssh
