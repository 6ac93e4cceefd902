#include "comm/common/nonce.hpp"

#include "base/random.hpp"

namespace fastgpu::comm {

Nonce random_nonce() {
  Nonce nonce;
  fill_random(nonce);
  return nonce;
}

}  // namespace fastgpu::comm
