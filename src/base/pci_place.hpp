// The places of devices on the PCI bus, as the kernel's folders show them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace fastgpu {

/// Returns the bridges on the way to a device, and the device itself, of which `folder` is a folder
/// or a link to one: "pci0000:00/0000:00:01.0/0000:3b:00.0". Empty if it is not on a PCI bus.
std::string pci_place(const std::filesystem::path& folder);

/// Returns the number of bridges that two devices have in common, the host's own bridge included: 0
/// for devices of two hosts' bridges, and if a place is empty.
std::size_t common_bridges(std::string_view one, std::string_view other);

}  // namespace fastgpu
