#include "provision/cloud/machine_address.hpp"

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::provision::cloud {

MachineAddress MachineAddress::told(std::string_view cloud, std::string_view machine,
                                    std::string_view text) {
  if (text.empty()) return {};
  try {
    return MachineAddress(IpAddress::parse(text));
  } catch (const Error&) {
    throw Error(ErrorKind::remote, std::string(cloud) + " says that machine " + printable(machine) +
                                       " has the address '" + printable(text) +
                                       "', which is no IP address: it is not used");
  }
}

}  // namespace fastgpu::provision::cloud
