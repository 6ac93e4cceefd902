// Requests to the service that a cloud offers on each of its machines.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace fastgpu::agent {

/// Returns the body of the answer with status 200 to `method` `path` at `address`
/// ("169.254.169.254", "10.0.0.1:8080"). Sends `headers`, each of which ends with CR and LF. Absent
/// for any other status, for more than 16 KiB, and after a timeout. Never throws.
std::optional<std::string> fetch_metadata(std::string_view address, std::string_view method,
                                          std::string_view path, std::string_view headers,
                                          std::chrono::milliseconds timeout);

/// Returns the body of a complete HTTP/1.x answer; absent for any status except 200. Pure.
std::optional<std::string> body_of(std::string_view answer);

}  // namespace fastgpu::agent
