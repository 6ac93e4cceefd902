// The interface of a vendor's API for the dispatcher. Each vendor has one implementation in apis/.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "cloudsim/http/message.hpp"
#include "cloudsim/world/world.hpp"

namespace fastgpu::cloudsim {

/// The content of a request's envelope. Nothing is checked yet.
struct Call {
  std::string service;  ///< The name with which the vendor signs: "ec2", "cvm", ...
  std::string action;
  std::string region;
  const Request* request = nullptr;
};

/// A refused request, with the vendor's own error code.
class Refusal : public std::runtime_error {
 public:
  Refusal(int status, std::string code, const std::string& message)
      : std::runtime_error(message), status_(status), code_(std::move(code)) {}
  int status() const noexcept { return status_; }
  const std::string& code() const noexcept { return code_; }

 private:
  int status_;
  std::string code_;
};

/// A refusal of a request that no correct client of that API would send. It is recorded as a
/// violation.
class ProtocolViolation : public Refusal {
 public:
  using Refusal::Refusal;
};

class VendorApi {
 public:
  virtual ~VendorApi() = default;

  virtual std::string_view vendor() const noexcept = 0;

  /// Returns true if the request is for this vendor, by its Authorization header.
  virtual bool speaks(const Request& request) const = 0;

  virtual Call read(const Request& request) const = 0;

  /// Returns the account that sent the request. Throws Refusal unless the signature, its time and
  /// the token are valid.
  virtual const Account& authenticate(const Call& call, const SimulatedWorld& world) const = 0;

  /// Performs the request. Throws Refusal, or ApiFailure, which translate() converts to the
  /// vendor's errors.
  virtual Reply answer(const Call& call, const Account& account, SimulatedWorld& world) = 0;

  virtual Refusal translate(const ApiFailure& failure) const = 0;
  virtual Refusal throttled() const = 0;
  virtual Refusal not_allowed(const Call& call) const = 0;
  /// Returns the vendor's error for a bare status, such as that of a fault: 503.
  virtual Refusal of_status(int status) const = 0;

  /// Returns the refusal in the vendor's envelope.
  virtual Reply refuse(const Call& call, const Refusal& refusal, SimulatedWorld& world) const = 0;
};

}  // namespace fastgpu::cloudsim
