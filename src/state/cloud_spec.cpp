#include "state/cloud_spec.hpp"

#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::state {
namespace {

constexpr std::array kPublicAddresses = {std::pair(PublicAddress::all, "all"),
                                         std::pair(PublicAddress::head, "head"),
                                         std::pair(PublicAddress::none, "none")};

}  // namespace

std::string_view to_string(PublicAddress which) noexcept {
  for (const auto& [value, word] : kPublicAddresses)
    if (value == which) return word;
  return "?";
}

PublicAddress parse_public_address(std::string_view text) {
  for (const auto& [value, word] : kPublicAddresses)
    if (text == word) return value;
  throw Error(ErrorKind::usage, "'" + printable(text) +
                                    "' is not a choice of public addresses: use all, head or none");
}

}  // namespace fastgpu::state
