#include "ssh/host.hpp"

namespace fastgpu::ssh {

std::string place(const Host& host) {
  const bool v6 = host.address.find(':') != std::string::npos;
  return host.name.value + " (" + (v6 ? "[" + host.address + "]" : host.address) + ":" +
         std::to_string(host.port) + ")";
}

}  // namespace fastgpu::ssh
