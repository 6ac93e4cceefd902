#include "transfer/transfer_libraries.hpp"

#include <openssl/opensslv.h>
#include <zstd.h>

namespace fastgpu::transfer {

std::map<std::string, std::string> library_versions() {
  // OpenSSL_version() is not used, because it would link half of libcrypto into the agent.
  return {{"openssl", OPENSSL_VERSION_STR}, {"zstd", ::ZSTD_versionString()}};
}

}  // namespace fastgpu::transfer
