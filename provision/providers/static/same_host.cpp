#include "provision/providers/static/same_host.hpp"

#include <map>

#include "base/error.hpp"

namespace fastgpu::provision {

void require_different_hosts(std::span<const IdentifiedHost> hosts) {
  std::map<std::string, std::string> places;
  for (const IdentifiedHost& host : hosts) {
    if (host.identity.text.empty()) continue;
    const auto [first, is_new] = places.try_emplace(host.identity.text, host.place);
    if (is_new) continue;
    throw Error(ErrorKind::usage,
                "hosts " + first->second + " and " + host.place +
                    " are the same machine, user and home directory: list it once, with as many "
                    "`slots` as it shall have ranks");
  }
}

}  // namespace fastgpu::provision
