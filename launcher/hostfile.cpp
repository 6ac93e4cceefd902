#include "launcher/hostfile.hpp"

namespace fastgpu::launcher {

std::string hostfile(std::span<const HostfileEntry> entries) {
  std::string text;
  for (const HostfileEntry& entry : entries)
    text += entry.name + " slots=" + std::to_string(entry.ranks) + "\n";
  return text;
}

}  // namespace fastgpu::launcher
