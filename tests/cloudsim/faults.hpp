// Faults that a test has ordered by the control page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cloudsim/http/message.hpp"
#include "cloudsim/world/cloud_model.hpp"

namespace fastgpu::cloudsim {

enum class FaultKind : std::uint8_t {
  delay,         ///< The answer is delayed by `milliseconds`.
  status,        ///< The answer has `status`, `code` or the vendor's code for it, and Retry-After
                 ///< `retry_after`.
  reset_before,  ///< The connection is reset, and nothing is done.
  reset_after,   ///< The action takes effect, then the connection is reset.
  half_body,
  content_type,  ///< The answer has the content type `text`.
  error_in_200,  ///< The answer has status 200, but contains the error `code`.
  slow_drip,     ///< The answer is sent one byte every `milliseconds`.
  garbage,       ///< The answer has status 200 and the body `text`.
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
  /// Adds the faults that a JSON list describes. Throws ErrorKind::usage.
  void add(const Json& list);
  void clear() { rules_.clear(); }

  /// Returns the fault for this call, if any. Counts the call for every rule that it matches.
  std::optional<Fault> meet(const std::string& vendor, const std::string& region,
                            const std::string& action);

 private:
  struct Rule {
    std::string vendor, region, action;  ///< Empty for any.
    int skip = 0;                        ///< The number of matching calls that pass first.
    int left = 1;                        ///< The number of calls after them that get the fault.
    Fault fault;
  };
  std::vector<Rule> rules_;
};

}  // namespace fastgpu::cloudsim
