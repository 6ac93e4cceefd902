// Parses and builds URLs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastgpu::http {

/// The parts of an absolute URL, not decoded.
struct Url {
  std::string scheme{};     ///< Lower case: "http" or "https".
  std::string authority{};  ///< Lower case: "host" or "host:port"; never with a user name.
  std::string path{};       ///< The text from the first '/' on, or "".
  std::string query{};      ///< The text after the '?'.
};

/// Parses a URL. Throws ErrorKind::usage for anything but an http or https URL that has a host and
/// no user name. Drops a fragment.
Url parse_url(std::string_view text);

/// Returns the host of an authority, without its port.
std::string_view host_of(std::string_view authority) noexcept;

/// Encodes by RFC 3986: letters, digits and -_.~ stay, every other byte becomes %XX.
std::string percent_encode(std::string_view text);

/// Decodes %XX. A '%' without two hex digits after it stays.
std::string percent_decode(std::string_view text);

using Parameters = std::vector<std::pair<std::string, std::string>>;

/// Returns the decoded pairs of a query or form, in their order. A pair without '=' has an empty
/// value.
Parameters parse_query(std::string_view query);

/// Returns "a=1&b=" with both sides encoded, in the given order. Suitable as a query and as a form.
std::string encode_query(const Parameters& parameters);

/// Returns true if both are equal, ignoring the case of A to Z.
bool same_word(std::string_view one, std::string_view other) noexcept;

}  // namespace fastgpu::http
