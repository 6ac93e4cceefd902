// The providers of libfabric, by their names.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace fastgpu {

/// Returns whether a provider of libfabric ("verbs;ofi_rxm", "net") has no device of its own: its
/// messages go by sockets, or by memory of the host.
constexpr bool is_software_provider(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 7> kSoftware = {"tcp",     "net", "udp", "shm",
                                                         "sockets", "sm2", "lnx"};
  return std::ranges::find(kSoftware, name.substr(0, name.find(';'))) != kSoftware.end();
}

}  // namespace fastgpu
