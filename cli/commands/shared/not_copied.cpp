#include "cli/commands/shared/not_copied.hpp"

#include <set>
#include <string>

#include "base/utf8.hpp"

namespace fastgpu::cli {

std::size_t warn_of_not_copied(Context& context,
                               std::span<const HostResult<remote::Copied>> results) {
  std::set<std::string> vanished;
  std::set<std::string> special;
  std::set<std::string> kept_here;
  for (const auto& result : results) {
    if (!result.ok()) continue;
    const transfer::NotSent& entries = result.value().not_sent;
    vanished.insert(entries.vanished.begin(), entries.vanished.end());
    special.insert(entries.special.begin(), entries.special.end());
    kept_here.insert(entries.kept_here.begin(), entries.kept_here.end());
  }
  for (const std::string& name : vanished)
    context.ui().warn(escaped(name, Layout::one_line) +
                      " vanished during the copy: the other files are complete");
  for (const std::string& name : special)
    context.ui().warn(escaped(name, Layout::one_line) +
                      " was not copied: it is a pipe, a socket or a device");
  for (const std::string& name : kept_here)
    context.ui().note("left out: " + escaped(name, Layout::one_line) +
                      ": fastgpu's own keys and records");
  return vanished.size();
}

}  // namespace fastgpu::cli
