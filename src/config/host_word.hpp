// A host in one word, as ssh and clusters' own tools write it: "ann@n[01-04].lab:2222".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::config {

struct HostWord {
  std::string user{};  ///< Empty where the word has none.
  std::string address;
  std::optional<std::uint16_t> port{};
};

/// Reads "user@host:port"; an IPv6 address with a port is in brackets, "[fd00::1]:22". Throws
/// ErrorKind::usage with the word and what is allowed.
HostWord parse_host_word(std::string_view text);

/// Reads a list of such words, with ranges for many hosts: "n[01-04],ann@n9:22". Throws as
/// parse_host_word.
std::vector<HostWord> parse_host_words(std::string_view text);

/// Splits "host:rest" at the colon behind a name or a bracketed IPv6 address; an IPv6 address
/// without brackets has no rest. The address comes without its brackets.
struct HostParts {
  std::string_view address;
  std::optional<std::string_view> rest{};
};
HostParts split_host(std::string_view text);

/// Throw ErrorKind::usage for text that cannot be an address or host name, and for text that cannot
/// be a user name: neither may pass for an option or a word of a shell.
void check_address(std::string_view text);
void check_user(std::string_view text);

}  // namespace fastgpu::config
