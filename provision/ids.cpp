#include "provision/ids.hpp"

#include "base/random.hpp"

namespace fastgpu::provision {

state::ClusterId new_cluster_id() {
  return {random_hex(4)};
}

std::string new_token() {
  return random_hex(16);
}

}  // namespace fastgpu::provision
