// The id and the addresses of a machine in its cloud's answers, checked before they are used.
#pragma once

#include <string>
#include <string_view>

#include "base/ip.hpp"

namespace fastgpu::provision::cloud {

/// Returns a machine's id from the cloud's answer: letters, digits, "-" and "_", at most 64; empty
/// if it is unknown. Throws ErrorKind::remote, naming the cloud and the value met, for any other
/// text, because ids become parts of URLs, plans and file names.
std::string machine_id_told(std::string_view cloud, std::string_view text);

/// An IP address, or none yet. The answers of a cloud get into configuration files of SSH and MPI
/// on this machine and on nodes only as this type.
class MachineAddress {
 public:
  MachineAddress() = default;
  explicit MachineAddress(const IpAddress& address) : text_(address.text()) {}

  /// Parses an address; an empty text means that the address is not assigned yet. Throws
  /// ErrorKind::remote, naming the cloud, the machine and the value met, for any other text.
  static MachineAddress told(std::string_view cloud, std::string_view machine,
                             std::string_view text);

  bool empty() const noexcept { return text_.empty(); }
  const std::string& text() const noexcept { return text_; }

  friend bool operator==(const MachineAddress&, const MachineAddress&) = default;

 private:
  std::string text_;
};

}  // namespace fastgpu::provision::cloud
