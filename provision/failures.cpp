#include "provision/failures.hpp"

#include <string>

#include "base/join.hpp"

namespace fastgpu::provision {

Error as_one(std::string_view doing, const std::vector<NodeFailure>& failures) {
  constexpr std::size_t kNamed = 4;
  const NodeFailure& first = failures.front();
  std::string message = std::string(doing) + ": ";
  if (std::string_view(first.error.what()).substr(0, first.node.value.size()) != first.node.value)
    message += first.node.value + ": ";
  message += first.error.what();
  std::string others;
  for (std::size_t i = 1; i < failures.size() && i <= kNamed; ++i)
    append_item(others, failures[i].node.value);
  if (failures.size() > kNamed + 1)
    others += " and " + std::to_string(failures.size() - kNamed - 1) + " more";
  if (!others.empty()) message += " (and so " + others + ")";
  return {first.error.kind(), message};
}

void throw_failures(std::string_view doing, const std::vector<NodeFailure>& failures) {
  if (!failures.empty()) throw as_one(doing, failures);
}

}  // namespace fastgpu::provision
