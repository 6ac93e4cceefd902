// What a vendor's API looks like from the dispatcher. One implementation a vendor, in faces/.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "cloudsim/http/message.hpp"
#include "cloudsim/world/world.hpp"

namespace fastgpu::cloudsim {

/// What a request asks for, read from its envelope; nothing is checked yet.
struct Call {
  std::string service;  ///< As the vendor signs for it: "ec2", "cvm", ...
  std::string action;
  std::string region;
  const Request* request = nullptr;
};

/// The answer no, with the vendor's own code.
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

/// A refusal because no client of that API would ask so: kept in the books as a violation.
class Violation : public Refusal {
 public:
  using Refusal::Refusal;
};

class Face {
 public:
  virtual ~Face() = default;

  virtual std::string_view vendor() const noexcept = 0;

  /// Whether this request is to this vendor, by its Authorization header.
  virtual bool speaks(const Request& request) const = 0;

  virtual Call read(const Request& request) const = 0;

  /// Whose request it is: the signature, its time and the token are good. Throws Refusal.
  virtual const Account& authenticate(const Call& call, const World& world) const = 0;

  /// Does it. Throws Refusal, or Trouble, which `translate` then puts into the vendor's words.
  virtual Reply answer(const Call& call, const Account& account, World& world) = 0;

  virtual Refusal translate(const Trouble& trouble) const = 0;
  virtual Refusal throttled() const = 0;
  virtual Refusal not_allowed(const Call& call) const = 0;
  /// The vendor's code for a bare status, such as that of a fault: 503.
  virtual Refusal of_status(int status) const = 0;

  /// A refusal in the vendor's envelope.
  virtual Reply refuse(const Call& call, const Refusal& refusal, World& world) const = 0;
};

}  // namespace fastgpu::cloudsim
