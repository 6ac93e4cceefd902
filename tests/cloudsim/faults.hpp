// What the control page has ordered to go wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cloudsim/http/message.hpp"
#include "cloudsim/world/model.hpp"

namespace fastgpu::cloudsim {

enum class FaultKind : std::uint8_t {
  delay,   ///< The answer comes `milliseconds` later.
  status,  ///< `status` with the vendor's code for it (or `code`), Retry-After: `retry_after`.
  reset_before,  ///< The connection is reset and nothing is done.
  reset_after,   ///< The action takes effect, then the connection is reset.
  half_body,
  content_type,  ///< The answer calls itself `text`.
  error_in_200,  ///< Status 200 with the error `code` inside.
  slow_drip,     ///< A byte every `milliseconds`.
  garbage,       ///< Status 200 with `text` as the body.
};

struct Fault {
  FaultKind kind = FaultKind::delay;
  int status = 503;
  std::optional<int> retry_after{};
  std::string code{}, text{};
  std::chrono::milliseconds pause{0};
};

class Faults {
 public:
  /// Adds what a JSON list describes. Throws ErrorKind::usage.
  void add(const Json& list);
  void clear() { rules_.clear(); }

  /// The fault that this call meets, if any; counts the call for every rule that it matches.
  std::optional<Fault> meet(const std::string& vendor, const std::string& region,
                            const std::string& action);

 private:
  struct Rule {
    std::string vendor, region, action;  ///< Any where empty.
    int skip = 0;                        ///< So many matching calls pass first.
    int left = 1;                        ///< So many then meet the fault.
    Fault fault;
  };
  std::vector<Rule> rules_;
};

}  // namespace fastgpu::cloudsim
