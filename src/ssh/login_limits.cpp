#include "ssh/login_limits.hpp"

#include <algorithm>

namespace fastgpu::ssh {

int logins_on_this_machine(unsigned cores) {
  constexpr unsigned kLoginsPerCore = 4;  // A login also waits, for example for its user's shell.
  return std::max(kLoginsAtOnce, static_cast<int>(kLoginsPerCore * cores));
}

std::string first_hop(const Host& host) {
  const Host& first = host.jumps.empty() ? host : host.jumps.front();
  return first.address + " " + std::to_string(first.port);
}

bool LoginLimits::has_room(const std::string& hop, const Host& host) const {
  if (host.is_on_this_machine && here_ >= most_here_) return false;
  const auto found = by_hop_.find(hop);
  return found == by_hop_.end() || found->second < kLoginsAtOnce;
}

void LoginLimits::begin(const std::string& hop, const Host& host) {
  ++by_hop_[hop];
  if (host.is_on_this_machine) ++here_;
}

void LoginLimits::end(const std::string& hop, const Host& host) {
  --by_hop_[hop];
  if (host.is_on_this_machine) --here_;
}

}  // namespace fastgpu::ssh
