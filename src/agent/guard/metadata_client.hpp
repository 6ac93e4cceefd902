// One request to the service that a cloud has on each of its machines.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace fastgpu::agent {

/// Returns the body of a 200 to `method` `path` at `address` ("169.254.169.254", "10.0.0.1:8080").
/// Sends `headers`, each ended by CR and LF. Absent for any other status, for more than 16 KiB, and
/// without an answer in time. Never throws.
std::optional<std::string> fetch_metadata(std::string_view address, std::string_view method,
                                          std::string_view path, std::string_view headers,
                                          std::chrono::milliseconds timeout);

/// Returns the body of a complete answer in HTTP/1.x; absent for any status but 200. Pure.
std::optional<std::string> body_of(std::string_view answer);

}  // namespace fastgpu::agent
