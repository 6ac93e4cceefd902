// The two halves of an SSH key, as texts.
#pragma once

#include <string>

#include "base/secret.hpp"

namespace fastgpu {

struct KeyPair {
  Secret private_key;      ///< The text of an OpenSSH private key file, without passphrase.
  std::string public_key;  ///< "ssh-ed25519 AAAA..." without comment.
};

}  // namespace fastgpu
