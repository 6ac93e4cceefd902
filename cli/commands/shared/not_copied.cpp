#include "cli/commands/shared/not_copied.hpp"

#include <set>
#include <string>

#include "base/utf8.hpp"

namespace fastgpu::cli {

std::size_t warn_of_not_copied(Context& context,
                               std::span<const HostResult<remote::Copied>> results) {
  std::set<std::string> vanished;
  std::set<std::string> special;
  for (const auto& result : results) {
    if (!result.ok()) continue;
    const transfer::NotSent& entries = result.value().not_sent;
    vanished.insert(entries.vanished.begin(), entries.vanished.end());
    special.insert(entries.special.begin(), entries.special.end());
  }
  for (const std::string& name : vanished)
    context.ui().warn(escaped(name, Layout::one_line) +
                      " vanished during the copy: the other files are complete");
  for (const std::string& name : special)
    context.ui().warn(escaped(name, Layout::one_line) +
                      " was not copied: it is a pipe, a socket or a device");
  return vanished.size();
}

}  // namespace fastgpu::cli
