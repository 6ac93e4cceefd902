#include "provision/cloud/key_pair.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/names.hpp"

namespace fastgpu::provision::cloud {
namespace {

std::string text_of(const KeyPairName& pair) {
  return std::string(pair.cloud) + ": the key pair '" + printable(pair.name) + "' in " +
         std::string(pair.region);
}

/// Returns true for a kind of key and its bytes in base64: text without any option for
/// authorized_keys.
bool is_public_key(std::string_view kind, std::string_view bytes) {
  const auto is_of_kind = [](char c) {
    return is_ascii_letter_or_digit(c) || c == '-' || c == '@' || c == '.';
  };
  const auto is_base64 = [](char c) {
    return is_ascii_letter_or_digit(c) || c == '+' || c == '/' || c == '=';
  };
  const bool is_known =
      kind.starts_with("ssh-") || kind.starts_with("ecdsa-sha2-") || kind.starts_with("sk-");
  return is_known && std::ranges::all_of(kind, is_of_kind) && !bytes.empty() &&
         std::ranges::all_of(bytes, is_base64);
}

}  // namespace

std::string public_key_of(const KeyPairName& pair, std::string_view given) {
  const std::size_t after_kind = given.find(' ');
  const std::string_view kind = given.substr(0, after_kind);
  std::string_view bytes = after_kind == std::string_view::npos ? "" : given.substr(after_kind + 1);
  bytes = bytes.substr(0, bytes.find_first_of(" \r\n"));
  if (!is_public_key(kind, bytes) || kind.size() + 1 + bytes.size() > kMostOfPublicKey)
    throw Error(
        ErrorKind::remote,
        text_of(pair) +
            " has no public key that OpenSSH accepts: give the key itself with --ssh-key FILE.pub");
  return std::string(kind) + " " + std::string(bytes);
}

Error no_such_key_pair(const KeyPairName& pair) {
  return {
      ErrorKind::not_found,
      text_of(pair) + " does not exist: create it, or give the key itself with --ssh-key FILE.pub"};
}

}  // namespace fastgpu::provision::cloud
