#include "provision/cloud/machine_address.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::provision::cloud {

std::string machine_id_told(std::string_view cloud, std::string_view text) {
  constexpr std::size_t kMaxLength = 64;
  const bool is_id = std::ranges::all_of(
      text, [](char c) { return is_ascii_letter_or_digit(c) || c == '-' || c == '_'; });
  if (is_id && text.size() <= kMaxLength && !text.starts_with('-')) return std::string(text);
  throw Error(ErrorKind::remote, std::string(cloud) + " returned the invalid machine id '" +
                                     printable(text) + "', which is not used");
}

MachineAddress MachineAddress::told(std::string_view cloud, std::string_view machine,
                                    std::string_view text) {
  if (text.empty()) return {};
  try {
    return MachineAddress(IpAddress::parse(text));
  } catch (const Error&) {
    throw Error(ErrorKind::remote, std::string(cloud) + ": machine " + printable(machine) +
                                       " has the invalid IP address '" + printable(text) +
                                       "', which is not used");
  }
}

}  // namespace fastgpu::provision::cloud
