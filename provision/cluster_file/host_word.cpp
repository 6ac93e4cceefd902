#include "provision/cluster_file/host_word.hpp"

#include <arpa/inet.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/name_ranges.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"

namespace fastgpu::provision {
namespace {

constexpr std::size_t kMostHostWords = 10'000;
constexpr int kHighestWordPort = 65'535;

bool is_user_character(char c) {
  return is_ascii_letter_or_digit(c) || c == '.' || c == '-' || c == '_';
}

bool is_address_character(char c) {
  return is_user_character(c) || c == ':' || c == '%';
}

std::uint16_t port_in(std::string_view digits, std::string_view word) {
  const int port = to_number<int>(digits).value_or(0);
  if (port < 1 || port > kHighestWordPort)
    throw Error(ErrorKind::usage,
                "'" + printable(word) + "' has no port from 1 to 65535 behind its address");
  return static_cast<std::uint16_t>(port);
}

[[noreturn]] void refuse_range(std::string_view word) {
  throw Error(
      ErrorKind::usage,
      "'" + printable(word) +
          "' is not a range of hosts: write n[01-04] or n[1,3-5]; an IPv6 address with a port "
          "is [fd00::1]:22");
}

/// Returns true if the text begins with a bracketed IPv6 address, and not with a range: the
/// brackets contain a colon.
bool is_bracketed_address(std::string_view place) {
  const std::size_t close = place.find(']');
  return place.starts_with('[') && close != place.npos &&
         place.substr(0, close).find(':') != place.npos;
}

}  // namespace

/// Numbers that are no IPv4 address are refused: a resolver reads 010.0.0.1 as 8.0.0.1, and 10 as
/// 0.0.0.10.
void check_address(std::string_view text) {
  constexpr std::size_t kLongest = 253;
  if (text.empty() || text.size() > kLongest || text.front() == '-' ||
      !std::ranges::all_of(text, is_address_character))
    throw Error(ErrorKind::usage,
                "'" + printable(text) + "' is neither an address nor a host name");
  in_addr ipv4{};
  const bool is_numeric = text.find_first_not_of("0123456789.") == text.npos;
  if (is_numeric && ::inet_pton(AF_INET, std::string(text).c_str(), &ipv4) != 1)
    throw Error(
        ErrorKind::usage,
        "'" + printable(text) +
            "' is not an IPv4 address: it has four numbers up to 255, without leading zeros");
}

void check_user(std::string_view text) {
  if (text.empty() || text.front() == '-' || !std::ranges::all_of(text, is_user_character))
    throw Error(ErrorKind::usage, "'" + printable(text) + "' is not a user name");
}

HostParts split_host(std::string_view text) {
  const std::size_t close = text.find(']');
  if (text.starts_with('[') && close != text.npos) {
    HostParts parts{.address = text.substr(1, close - 1)};
    const std::string_view rest = text.substr(close + 1);
    if (rest.starts_with(':')) parts.rest = rest.substr(1);
    // Without an address, the whole text is refused below.
    if (!rest.empty() && !parts.rest) parts.address = text;
    return parts;
  }
  const std::size_t colon = text.find(':');
  if (colon == text.npos || text.find(':', colon + 1) != text.npos) return {.address = text};
  return {.address = text.substr(0, colon), .rest = text.substr(colon + 1)};
}

HostWord parse_host_word(std::string_view text) {
  HostWord word;
  std::string_view place = text;
  if (const std::size_t at = text.rfind('@'); at != text.npos) {
    word.user = text.substr(0, at);
    check_user(word.user);
    place.remove_prefix(at + 1);
  }
  const HostParts parts = split_host(place);
  word.address = parts.address;
  check_address(word.address);
  if (parts.rest) word.port = port_in(*parts.rest, text);
  return word;
}

std::vector<HostWord> parse_host_words(std::string_view text) {
  const auto items = split_name_list(text);
  if (!items) refuse_range(text);
  std::vector<HostWord> hosts;
  for (const std::string_view item : *items) {
    const std::size_t at = item.rfind('@');
    const std::string_view place = at == item.npos ? item : item.substr(at + 1);
    const auto words = is_bracketed_address(place) ? std::optional(std::vector{std::string(item)})
                                                   : expand_name(item, kMostHostWords);
    if (!words) refuse_range(item);
    if (words->size() > kMostHostWords - hosts.size())
      throw Error(ErrorKind::usage, "'" + printable(text) + "' names over 10,000 hosts");
    for (const std::string& word : *words)
      hosts.push_back(parse_host_word(word));
  }
  return hosts;
}

}  // namespace fastgpu::provision
