// Uses functions of libcrypto that need none of its tables of algorithms. They add 25 kB to a
// static program, while the newer functions add 3.7 MB.
#include "transfer/sha256.hpp"

#include <openssl/sha.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/error.hpp"
#include "base/hex.hpp"
#include "base/names.hpp"

namespace fastgpu::transfer {

void Sha256::Release::operator()(SHA256state_st* state) const noexcept {
  delete state;
}

Sha256::Sha256() : state_(new SHA256_CTX) {
  SHA256_Init(state_.get());
}

void Sha256::add(std::string_view bytes) noexcept {
  SHA256_Update(state_.get(), bytes.data(), bytes.size());
}

Digest Sha256::finish() noexcept {
  Digest digest{};
  SHA256_Final(digest.data(), state_.get());
  return digest;
}

std::optional<Digest> parse_digest(std::string_view hex) {
  Digest digest{};
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const char* const end = hex.data() + 2 * i + 2;
    if (std::from_chars(end - 2, end, digest[i], 16).ptr != end) return std::nullopt;
  }
  return digest;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes);
  return hex(sum.finish());
}

Digest sum_of_file(int fd, const std::string& shown,
                   const std::function<void(std::string_view)>& on_bytes) {
  std::array<char, 128UL * 1024> buffer;  // Not cleared: most files are much smaller.
  Sha256 sum;
  for (off_t at = 0;;) {
    const ssize_t size = ::pread(fd, buffer.data(), buffer.size(), at);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) throw system_error("reading " + printable(shown), errno);
    if (size == 0) return sum.finish();
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(size));
    sum.add(piece);
    if (on_bytes) on_bytes(piece);
    at += size;
  }
}

}  // namespace fastgpu::transfer
