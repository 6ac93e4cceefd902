// The encodings of SSH: length-prefixed strings, and public keys in one line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fastgpu::ssh {

void put_u32(std::string& out, std::uint32_t value);
void put_string(std::string& out, std::string_view text);

/// Decodes values from the front of `bytes`. A missing part is absent.
class SshWireReader {
 public:
  explicit SshWireReader(std::string_view bytes) noexcept : rest_(bytes) {}

  std::optional<std::uint32_t> u32() noexcept;
  std::optional<std::string_view> string() noexcept;
  /// Returns the next `count` bytes unchanged.
  std::optional<std::string_view> bytes(std::size_t count) noexcept;
  /// Returns the number of bytes not yet taken.
  std::size_t left() const noexcept { return rest_.size(); }

 private:
  std::string_view rest_;
};

/// Returns the binary form of the Ed25519 key in "ssh-ed25519 AAAA... [comment]". Throws
/// ErrorKind::usage if `line` is not a key.
std::string public_key_blob(std::string_view line);

/// Returns "ssh-ed25519 AAAA..." for a key's binary form.
std::string public_key_line(std::string_view blob);

/// Returns "SHA256:..." for a key of any type in its binary form.
std::string blob_fingerprint(std::string_view blob);

}  // namespace fastgpu::ssh
