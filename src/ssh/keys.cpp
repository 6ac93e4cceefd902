#include "ssh/keys.hpp"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>

#include "base/base64.hpp"
#include "base/c_handle.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "ssh/wire.hpp"

namespace fastgpu::ssh {
namespace {

using Key = CHandle<EVP_PKEY, EVP_PKEY_free>;
using RawKey = std::array<unsigned char, 32>;

Error no_key(std::string_view doing) {
  return {ErrorKind::local, "libcrypto refused " + std::string(doing)};
}

std::string_view view(const RawKey& raw) {
  return {reinterpret_cast<const char*>(raw.data()), raw.size()};
}

std::string ed25519_blob(std::string_view raw) {
  std::string blob;
  put_string(blob, "ssh-ed25519");
  put_string(blob, raw);
  return blob;
}

/// Returns the part of a private key file that a passphrase would encrypt.
std::string private_section(const RawKey& seed, const RawKey& raw_public,
                            std::string_view comment) {
  std::uint32_t check = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&check), sizeof check) != 1)
    throw no_key("random bytes");
  std::string section;
  put_u32(section, check);
  put_u32(section, check);
  section += ed25519_blob(view(raw_public));
  put_string(section, std::string(view(seed)) + std::string(view(raw_public)));
  put_string(section, comment);
  for (char pad = 1; section.size() % 8 != 0; ++pad)
    section += pad;
  return section;
}

std::string in_armour(std::string_view encoded) {
  constexpr std::size_t kColumns = 70;  // The columns that ssh-keygen uses, too.
  std::string text = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
  for (std::size_t at = 0; at < encoded.size(); at += kColumns) {
    text += encoded.substr(at, kColumns);
    text += '\n';
  }
  return text + "-----END OPENSSH PRIVATE KEY-----\n";
}

}  // namespace

KeyPair generate_key_pair(std::string_view comment) {
  const Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  if (!key) throw no_key("to make an Ed25519 key");
  RawKey seed{};
  RawKey raw_public{};
  std::size_t size = seed.size();
  if (EVP_PKEY_get_raw_private_key(key.get(), seed.data(), &size) != 1 ||
      EVP_PKEY_get_raw_public_key(key.get(), raw_public.data(), &size) != 1)
    throw no_key("to give out an Ed25519 key");

  const std::string blob = ed25519_blob(view(raw_public));
  std::string file = "openssh-key-v1";
  file += '\0';
  put_string(file, "none");  // cipher
  put_string(file, "none");  // key derivation
  put_string(file, "");      // its options
  put_u32(file, 1);          // number of keys
  put_string(file, blob);
  put_string(file, private_section(seed, raw_public, comment));
  return {Secret(in_armour(base64_encode(file))), public_key_line(blob)};
}

std::string fingerprint(std::string_view public_key) {
  const auto space = public_key.find(' ');
  const std::string_view type = public_key.substr(0, space);
  if (space == public_key.npos || type == "ssh-ed25519")
    return blob_fingerprint(public_key_blob(public_key));
  const std::string_view rest = public_key.substr(space + 1);
  const auto blob = base64_decode(rest.substr(0, rest.find_first_of(" \r\n")));
  if (!blob || SshWireReader(*blob).string() != type)
    throw Error(ErrorKind::usage, "\"" + printable(public_key) + "\" is not a public key");
  return blob_fingerprint(*blob);
}

}  // namespace fastgpu::ssh
