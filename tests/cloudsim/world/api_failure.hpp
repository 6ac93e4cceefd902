// Reasons for which the world refuses a request. Each api converts them to its vendor's errors.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace fastgpu::cloudsim {

enum class ApiFailureKind : std::uint8_t {
  no_stock,
  not_offered,  ///< The type is not offered in that zone.
  quota,
  price_too_low,     ///< The spot limit is below the market price.
  token_mismatch,    ///< An idempotency token was used again with other parameters.
  token_terminated,  ///< The token's instances are terminated.
  wrong_state,
  not_found,
  in_use,
  duplicate,
  addresses_used_up,
};

/// A refused request. `subject` is the id, type or quota that it is about.
class ApiFailure : public std::runtime_error {
 public:
  ApiFailure(ApiFailureKind kind, std::string subject, const std::string& message)
      : std::runtime_error(message), kind_(kind), subject_(std::move(subject)) {}
  ApiFailureKind kind() const noexcept { return kind_; }
  const std::string& subject() const noexcept { return subject_; }

 private:
  ApiFailureKind kind_;
  std::string subject_;
};

}  // namespace fastgpu::cloudsim
