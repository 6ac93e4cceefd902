#include "agent/protocol/index_login.hpp"

#include <algorithm>

#include "base/numbers.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::string_view kScheme = "://";
constexpr std::string_view kHidden = "****@";

/// Returns where the authority part of the first address after `from` begins; npos without an
/// address.
std::size_t authority_in(std::string_view text, std::size_t from) {
  const auto at = text.find(kScheme, from);
  return at == text.npos ? at : at + kScheme.size();
}

/// Returns the position after the last '@' in the authority that begins at `begin`; `begin` without
/// an '@'.
std::size_t host_in(std::string_view text, std::size_t begin) {
  const auto end = std::min(text.find_first_of("/?# \t\r\n\"'`<>", begin), text.size());
  const auto at = text.substr(begin, end - begin).rfind('@');
  return at == text.npos ? begin : begin + at + 1;
}

/// Returns `text` with the logins of all addresses hidden.
std::string hide_addresses(std::string_view text) {
  std::string out;
  std::size_t done = 0;
  for (auto begin = authority_in(text, 0); begin != text.npos; begin = authority_in(text, done)) {
    out += text.substr(done, begin - done);
    done = host_in(text, begin);
    if (done != begin) out += kHidden;
  }
  return out += text.substr(done);
}

void replace_all(std::string& text, const std::string& secret) {
  constexpr std::string_view kStars = "****";
  if (secret.empty()) return;
  for (auto at = text.find(secret); at != text.npos; at = text.find(secret, at + kStars.size()))
    text.replace(at, secret.size(), kStars);
}

}  // namespace

bool has_login(std::string_view address) noexcept {
  const auto begin = authority_in(address, 0);
  return begin != address.npos && host_in(address, begin) != begin;
}

std::string without_login(std::string_view address) {
  if (!has_login(address)) return std::string(address);
  const auto begin = authority_in(address, 0);
  return std::string(address.substr(0, begin)) +
         std::string(address.substr(host_in(address, begin)));
}

LoginParts login_of(std::string_view address) {
  if (!has_login(address)) return {};
  const auto begin = authority_in(address, 0);
  const auto both = address.substr(begin, host_in(address, begin) - begin - 1);
  const auto colon = both.find(':');
  if (colon == both.npos) return {std::string(both), ""};
  return {std::string(both.substr(0, colon)), std::string(both.substr(colon + 1))};
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(i + 1, 2);
    const auto byte = to_number<unsigned char>(digits, 16);
    const bool is_escape = text[i] == '%' && digits.size() == 2 && byte;
    out += is_escape ? static_cast<char>(*byte) : text[i];
    if (is_escape) i += digits.size();
  }
  return out;
}

std::string hide_logins(std::string_view text, std::span<const Secret> logins) {
  std::string out = hide_addresses(text);
  for (const Secret& login : logins) {
    const auto [user, password] = login_of(login.reveal());
    // A token is often in the place of the user name.
    const std::string& encoded = password.empty() ? user : password;
    for (const std::string& secret : {encoded, percent_decoded(encoded)})
      replace_all(out, secret);
  }
  return out;
}

}  // namespace fastgpu::agent
