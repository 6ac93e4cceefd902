#include "comm/common/nonce.hpp"

#include <sys/random.h>

#include <cerrno>

#include "base/error.hpp"

namespace fastgpu::comm {

Nonce random_nonce() {
  Nonce nonce;
  // Requests of up to 256 bytes are filled whole or not at all.
  while (::getrandom(nonce.data(), nonce.size(), 0) < 0)
    if (errno != EINTR) throw system_error("reading random bytes", errno);
  return nonce;
}

}  // namespace fastgpu::comm
