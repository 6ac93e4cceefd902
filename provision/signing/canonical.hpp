// The canonical text of a request, which both sides must compute identically: the common part of
// the four signature schemes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "http/client.hpp"

namespace fastgpu::provision::signing {

enum class InnerSpaces : std::uint8_t { kept, collapsed };

struct Canonical {
  std::string method;
  std::string path;
  std::string query;
  std::vector<http::Header> headers;  ///< The result of canonical_headers().
  std::string body_hash;
};

/// Returns the lines that are hashed and signed.
std::string canonical_text(const Canonical& canonical);

/// Returns "content-type;host".
std::string signed_names(const std::vector<http::Header>& headers);

/// Returns the headers whose name (in lower case) is `wanted`, with names in lower case, sorted,
/// and with values trimmed. Values of the same name are joined by commas. Authorization is always
/// left out.
std::vector<http::Header> canonical_headers(
    const std::vector<http::Header>& headers,
    const std::function<bool(std::string_view name)>& wanted, InnerSpaces spaces);

/// Returns the query's pairs, percent-encoded anew, ordered by name and then by value.
std::string canonical_query(std::string_view query);

/// Returns the path with each part between slashes percent-encoded; "/" for an empty path.
std::string encoded_path(std::string_view path);

/// Gives the request a Host header from its URL if it has none.
void add_host(http::Request& request);

}  // namespace fastgpu::provision::signing
