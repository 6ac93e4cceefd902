#include "ssh/ssh_libraries.hpp"

#include <libssh2.h>
#include <openssl/crypto.h>

namespace fastgpu::ssh {

std::map<std::string, std::string> library_versions() {
  return {{"libssh2", ::libssh2_version(0)},
          {"openssl", ::OpenSSL_version(OPENSSL_VERSION_STRING)}};
}

}  // namespace fastgpu::ssh
