#include "base/pci_place.hpp"

#include <algorithm>
#include <system_error>
#include <vector>

#include "base/names.hpp"
#include "base/split.hpp"

namespace fastgpu {

namespace fs = std::filesystem;

namespace {

/// Returns whether a name is that of a device on a bus: "0000:3b:00.0", with four or more digits in
/// front.
bool is_pci_address(std::string_view name) {
  constexpr std::string_view kShape = "00:00.0";
  constexpr std::size_t kDomain = 5;
  if (name.size() < kDomain + kShape.size()) return false;
  const std::string_view end = name.substr(name.size() - kShape.size());
  return name[name.size() - kShape.size() - 1] == ':' && end[2] == ':' && end[5] == '.';
}

}  // namespace

std::string pci_place(const fs::path& folder) {
  constexpr std::string_view kHost = "pci";
  std::error_code error;
  const fs::path device = fs::canonical(folder, error);
  if (error) return {};
  std::string place;
  for (const fs::path& part : device) {
    const std::string name = printable(part.string());
    if (place.empty() && name.starts_with(kHost) && name.find(':') != name.npos)
      place = name;
    else if (!place.empty() && is_pci_address(name))
      place += "/" + name;
    else if (!place.empty())
      break;
  }
  return place.find('/') == place.npos ? std::string() : place;
}

std::size_t common_bridges(std::string_view one, std::string_view other) {
  const auto a = split(one, '/');
  const auto b = split(other, '/');
  // The last name is that of the device, which is not a bridge.
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t common = 0;
  while (common + 1 < most && a[common] == b[common])
    ++common;
  return common;
}

}  // namespace fastgpu
