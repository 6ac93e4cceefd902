#include "cloudsim/throttle.hpp"

#include <algorithm>

namespace fastgpu::cloudsim {

bool Throttle::admit(const SimulatedWorld& world, const Scope& scope, const std::string& action) {
  const Rate rate = world.catalogues.at(scope.vendor).rate(action);
  const Time now = world.now();
  Bucket& bucket = buckets_.try_emplace({scope, action}, Bucket{rate.burst, now}).first->second;
  const double seconds = std::chrono::duration<double>(now - bucket.filled).count();
  bucket.tokens = std::min(rate.burst, bucket.tokens + seconds * rate.per_second);
  bucket.filled = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

}  // namespace fastgpu::cloudsim
