// A host in one word, as ssh and cluster tools write it: "ann@n[01-04].lab:2222".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::provision {

struct HostWord {
  std::string user{};  ///< Empty if the word has no user.
  std::string address;
  std::optional<std::uint16_t> port{};
};

/// Parses "user@host:port". An IPv6 address with a port is in brackets: "[fd00::1]:22". Throws
/// ErrorKind::usage with the word and the allowed forms.
HostWord parse_host_word(std::string_view text);

/// Parses a list of such words, with ranges for many hosts: "n[01-04],ann@n9:22". Throws as
/// parse_host_word() does.
std::vector<HostWord> parse_host_words(std::string_view text);

/// The parts of "host:rest", split at the colon after a name or a bracketed IPv6 address. An IPv6
/// address without brackets has no rest. The address is without its brackets.
struct HostParts {
  std::string_view address;
  std::optional<std::string_view> rest{};
};
HostParts split_host(std::string_view text);

/// Throw ErrorKind::usage for text that is not a valid address, host name or user name. Valid text
/// can be neither an option nor several words of a shell.
void check_address(std::string_view text);
void check_user(std::string_view text);

}  // namespace fastgpu::provision
