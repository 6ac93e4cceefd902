// Why the world says no, in words that each face translates into its vendor's own.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace fastgpu::cloudsim {

enum class TroubleKind : std::uint8_t {
  no_stock,
  not_offered,  ///< The type is not sold in that zone.
  quota,
  price_too_low,     ///< The spot limit is below the market.
  token_mismatch,    ///< An idempotency token came back with other parameters.
  token_terminated,  ///< Its instances are gone.
  wrong_state,
  not_found,
  in_use,
  duplicate,
  addresses_used_up,
};

/// `subject` is what it is about: an id, a type, the name of a quota.
class Trouble : public std::runtime_error {
 public:
  Trouble(TroubleKind kind, std::string subject, const std::string& message)
      : std::runtime_error(message), kind_(kind), subject_(std::move(subject)) {}
  TroubleKind kind() const noexcept { return kind_; }
  const std::string& subject() const noexcept { return subject_; }

 private:
  TroubleKind kind_;
  std::string subject_;
};

}  // namespace fastgpu::cloudsim
