#include "ssh/wire.hpp"

#include <openssl/evp.h>

#include <array>

#include "base/base64.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::ssh {
namespace {

constexpr std::string_view kAlgorithm = "ssh-ed25519";
constexpr std::size_t kPublicKeySize = 32;

bool is_ed25519(std::string_view blob) {
  SshWireReader reader(blob);
  const auto algorithm = reader.string();
  const auto key = reader.string();
  return algorithm == kAlgorithm && key && key->size() == kPublicKeySize && !reader.bytes(1);
}

}  // namespace

void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>((value >> shift) & 0xff);
}

void put_string(std::string& out, std::string_view text) {
  put_u32(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

std::optional<std::string_view> SshWireReader::bytes(std::size_t count) noexcept {
  if (rest_.size() < count) return std::nullopt;
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

std::optional<std::uint32_t> SshWireReader::u32() noexcept {
  const auto taken = bytes(4);
  if (!taken) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : *taken)
    value = (value << 8) | static_cast<unsigned char>(c);
  return value;
}

std::optional<std::string_view> SshWireReader::string() noexcept {
  const auto size = u32();
  return size ? bytes(*size) : std::nullopt;
}

std::string public_key_blob(std::string_view line) {
  const std::string shown = printable(line);
  const auto fail = [&] {
    return Error(ErrorKind::usage,
                 "\"" + shown + "\" is not a public key of the form ssh-ed25519 AAAA...");
  };
  while (line.ends_with('\n') || line.ends_with('\r'))
    line.remove_suffix(1);
  if (!line.starts_with(kAlgorithm) || line.substr(kAlgorithm.size(), 1) != " ") throw fail();
  line.remove_prefix(kAlgorithm.size() + 1);
  const auto blob = base64_decode(line.substr(0, line.find(' ')));
  if (!blob || !is_ed25519(*blob)) throw fail();
  return *blob;
}

std::string public_key_line(std::string_view blob) {
  const auto algorithm = SshWireReader(blob).string();
  return std::string(algorithm.value_or("unknown")) + " " + base64_encode(blob);
}

std::string blob_fingerprint(std::string_view blob) {
  std::array<unsigned char, 32> digest{};
  if (EVP_Digest(blob.data(), blob.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1)
    throw Error(ErrorKind::local, "libcrypto offers no SHA-256");
  std::string text = base64_encode({reinterpret_cast<const char*>(digest.data()), digest.size()});
  while (text.ends_with('='))
    text.pop_back();
  return "SHA256:" + text;
}

}  // namespace fastgpu::ssh
