// Uses the functions of libcrypto that transfer/sha256.cpp uses, for the same reason.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "envs/drivers/pgp_key.hpp"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/base64.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::string_view kBegin = "-----BEGIN PGP PUBLIC KEY BLOCK-----";
constexpr std::string_view kHex = "0123456789ABCDEF";
constexpr unsigned kPublicKey = 6;  // The packet's tag; subkeys have another.

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::remote, "this is not an OpenPGP public key: " + why);
}

unsigned byte_at(std::string_view bytes, std::size_t at) {
  if (at >= bytes.size()) refuse("it is truncated");
  return static_cast<unsigned char>(bytes[at]);
}

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t length) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < length; ++i)
    value = value << 8U | byte_at(bytes, at + i);
  return value;
}

/// Returns the bytes of the lines before the checksum, which begins with '='.
std::string bytes_of_lines(std::string_view lines) {
  std::string digits(lines.substr(0, lines.find("\n=")));
  std::erase_if(digits, [](char c) { return c == '\n' || c == ' '; });
  const auto bytes = base64_decode(digits);
  if (!bytes) refuse("its armour is damaged");
  return *bytes;
}

std::string without_armour(std::string_view text) {
  const std::size_t begin = text.find(kBegin);
  if (begin == std::string_view::npos) return std::string(text);
  std::string plain(text.substr(begin + kBegin.size()));
  std::erase(plain, '\r');
  const std::size_t body = plain.find("\n\n");
  if (body == std::string::npos) refuse("its armour is incomplete");
  return bytes_of_lines(
      std::string_view(plain).substr(body, plain.find("\n-----END", body) - body));
}

struct Packet {
  unsigned tag = 0;
  std::string_view body;
};

/// Removes the first packet and returns it.
Packet take_packet(std::string_view& bytes) {
  const unsigned first = byte_at(bytes, 0);
  if ((first & 0x80U) == 0) refuse("its first byte is invalid");
  const bool is_new = (first & 0x40U) != 0;
  std::size_t header = 2;
  std::uint64_t length = byte_at(bytes, 1);
  if (!is_new) {
    const unsigned kind = first & 3U;
    if (kind == 3) refuse("a packet has no length");
    length = number_at(bytes, 1, std::size_t{1} << kind);
    header = 1 + (std::size_t{1} << kind);
  } else if (length >= 192 && length < 224) {
    length = ((length - 192) << 8U) + byte_at(bytes, 2) + 192;
    header = 3;
  } else if (length == 255) {
    length = number_at(bytes, 2, 4);
    header = 6;
  } else if (length >= 224) {
    refuse("a packet has a partial length");
  }
  if (length > bytes.size() - header) refuse("it is truncated");
  const Packet packet{is_new ? first & 0x3fU : first >> 2U & 0xfU, bytes.substr(header, length)};
  bytes.remove_prefix(header + length);
  return packet;
}

std::string fingerprint_of(std::string_view body) {
  if (byte_at(body, 0) != 4)
    refuse("it has version " + std::to_string(byte_at(body, 0)) + ", not 4");
  if (body.size() > 0xffff) refuse("it is too large");
  std::string hashed = {'\x99', static_cast<char>(body.size() >> 8U),
                        static_cast<char>(body.size() & 0xffU)};
  hashed += body;
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA_CTX state;
  SHA1_Init(&state);
  SHA1_Update(&state, hashed.data(), hashed.size());
  SHA1_Final(digest.data(), &state);
  std::string text;
  for (const unsigned char byte : digest) {
    text += kHex[byte >> 4U];
    text += kHex[byte & 15U];
  }
  return text;
}

}  // namespace

std::string key_fingerprint(std::string_view text) {
  const std::string bytes = without_armour(text);
  std::string_view rest = bytes;
  std::string found;
  while (!rest.empty()) {
    const Packet packet = take_packet(rest);
    if (packet.tag != kPublicKey) continue;
    if (!found.empty()) refuse("it contains more than one key");
    found = fingerprint_of(packet.body);
  }
  if (found.empty()) refuse("it contains no key");
  return found;
}

std::string parse_fingerprint(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c == ' ') continue;
    digits += c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  const bool is_hex =
      std::ranges::all_of(digits, [](char c) { return kHex.find(c) != std::string_view::npos; });
  if (digits.size() != 40 || !is_hex)
    throw Error(ErrorKind::usage,
                "'" + printable(text) + "' is not a fingerprint: write 40 hexadecimal digits");
  return digits;
}

std::string pinned_key(std::string text, const std::string& fingerprint,
                       const std::string& source) {
  const std::string found = [&] {
    try {
      return key_fingerprint(text);
    } catch (const Error& e) {
      throw e.during(source);
    }
  }();
  if (found != fingerprint)
    throw Error(ErrorKind::denied, source + ": the key's fingerprint is " + found +
                                       ", but the trusted one is " + fingerprint);
  return text;
}

}  // namespace fastgpu::envs
