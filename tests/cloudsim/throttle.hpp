// Limits by token buckets how often an account may call an action.
#pragma once

#include <map>
#include <string>

#include "cloudsim/world/world.hpp"

namespace fastgpu::cloudsim {

class Throttle {
 public:
  /// Takes a token from the action's bucket. Returns false if it is empty.
  bool admit(const SimulatedWorld& world, const Scope& scope, const std::string& action);

 private:
  struct Bucket {
    double tokens;
    Time filled;
  };
  std::map<std::pair<Scope, std::string>, Bucket> buckets_;
};

}  // namespace fastgpu::cloudsim
