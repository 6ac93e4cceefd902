// SHA-256 of data in one piece or in many.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct SHA256state_st;

namespace fastgpu::transfer {

using Digest = std::array<unsigned char, 32>;

class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes) noexcept;
  /// Returns the digest. No more bytes may be added afterwards.
  Digest finish() noexcept;

 private:
  struct Release {
    void operator()(SHA256state_st* state) const noexcept;
  };
  std::unique_ptr<SHA256state_st, Release> state_;
};

/// Parses 64 hexadecimal digits; absent for malformed text.
std::optional<Digest> parse_digest(std::string_view hex);
std::string sha256_hex(std::string_view bytes);

/// Returns the digest of an open file, read from its start. `on_bytes` receives each piece as well.
/// Throws local, naming `shown`.
Digest sum_of_file(int fd, const std::string& shown,
                   const std::function<void(std::string_view)>& on_bytes = {});

}  // namespace fastgpu::transfer
