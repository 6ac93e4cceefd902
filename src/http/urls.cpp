#include "http/urls.hpp"

#include <algorithm>
#include <optional>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"

namespace fastgpu::http {
namespace {

constexpr bool is_unreserved(char c) noexcept {
  return is_ascii_letter_or_digit(c) || c == '-' || c == '_' || c == '.' || c == '~';
}

/// Returns the byte of two hex digits; absent if they are not.
std::optional<char> hex_byte(std::string_view digits) noexcept {
  const auto byte = to_number<unsigned char>(digits, 16);
  if (digits.size() != 2 || !byte) return std::nullopt;
  return static_cast<char>(*byte);
}

/// Returns the part of the text that cannot contain a secret, such as a password or a query.
std::string_view harmless(std::string_view text) noexcept {
  if (text.find('@') == std::string_view::npos) return text.substr(0, text.find_first_of("?#"));
  const std::size_t scheme = text.find("://");
  return text.substr(0, scheme == std::string_view::npos ? 0 : scheme);
}

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw Error(ErrorKind::usage, "the URL '" + printable(harmless(text)) + "' " + why);
}

/// Removes the text before the first of `ends` from `rest`, and returns it.
std::string_view take_until(std::string_view& rest, std::string_view ends) noexcept {
  const std::string_view taken = rest.substr(0, rest.find_first_of(ends));
  rest.remove_prefix(taken.size());
  return taken;
}

}  // namespace

Url parse_url(std::string_view text) {
  const std::size_t colon = text.find("://");
  Url url{.scheme = ascii_lower(text.substr(0, colon))};
  if (colon == std::string_view::npos || (url.scheme != "http" && url.scheme != "https"))
    refuse(text, "does not begin with http:// or https://");
  if (std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 127; }))
    refuse(text, "has a control character");
  std::string_view rest = text.substr(colon + 3);
  url.authority = ascii_lower(take_until(rest, "/?#"));
  if (url.authority.find('@') != std::string::npos) refuse(text, "has a user name");
  if (host_of(url.authority).empty()) refuse(text, "names no host");
  url.path = take_until(rest, "?#");
  if (rest.starts_with('?')) url.query = take_until(rest, "#").substr(1);
  return url;
}

std::string_view host_of(std::string_view authority) noexcept {
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || authority.find(']', colon) != std::string_view::npos)
    return authority;
  return authority.substr(0, colon);
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_unreserved(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kDigits[byte >> 4U];
    encoded += kDigits[byte & 15U];
  }
  return encoded;
}

std::string percent_decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::optional<char> byte =
        text[i] == '%' ? hex_byte(text.substr(i + 1, 2)) : std::nullopt;
    decoded += byte.value_or(text[i]);
    if (byte) i += 2;
  }
  return decoded;
}

Parameters parse_query(std::string_view query) {
  Parameters parameters;
  while (!query.empty()) {
    const std::string_view pair = take_until(query, "&");
    if (!query.empty()) query.remove_prefix(1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
    parameters.emplace_back(percent_decode(pair.substr(0, equals)), percent_decode(value));
  }
  return parameters;
}

std::string encode_query(const Parameters& parameters) {
  std::string query;
  for (const auto& [name, value] : parameters) {
    if (!query.empty()) query += '&';
    query += percent_encode(name) + "=" + percent_encode(value);
  }
  return query;
}

bool same_word(std::string_view one, std::string_view other) noexcept {
  return std::ranges::equal(one, other,
                            [](char a, char b) { return ascii_lower(a) == ascii_lower(b); });
}

}  // namespace fastgpu::http
