// Limits on the logins that are under way at once. Each login needs processor time of the sshd.
#pragma once

#include <map>
#include <string>

#include "ssh/host.hpp"

namespace fastgpu::ssh {

/// The maximum number of simultaneous logins to one sshd, which starts to refuse logins at ten by
/// default.
inline constexpr int kLoginsAtOnce = 8;

/// Returns the maximum number of simultaneous logins to all sshds that run on this machine, which
/// has so many cores. More would only slow each other down, until they time out.
int logins_on_this_machine(unsigned cores);

/// Returns the address of the sshd that is contacted first.
std::string first_hop(const Host& host);

/// The logins of one run.
class LoginLimits {
 public:
  explicit LoginLimits(int most_here) : most_here_(most_here) {}

  /// Returns true if a login to the host may begin. `hop` is its first_hop().
  bool has_room(const std::string& hop, const Host& host) const;
  void begin(const std::string& hop, const Host& host);
  void end(const std::string& hop, const Host& host);

 private:
  int most_here_;
  int here_ = 0;
  std::map<std::string, int> by_hop_{};
};

}  // namespace fastgpu::ssh
