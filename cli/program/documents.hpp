// The documents that the commands show under -o json.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace fastgpu::cli {

struct DocumentsOf {
  std::string_view command;  ///< Equal to Command::words().
  std::array<std::string_view, 3> kinds_or_empty{};

  /// Returns the kinds that it may show: "clusters" is schema "fastgpu.clusters/1". In addition
  /// every command may show "done", if it has nothing to show, "dry-run" and "error".
  std::span<const std::string_view> kinds() const noexcept {
    const auto* const end = std::ranges::find(kinds_or_empty, std::string_view());
    return {kinds_or_empty.begin(), end};
  }
};

/// One entry for each command.
std::span<const DocumentsOf> all_documents();

/// Returns true for a kind in the common form: words of a-z and 0-9 with '-' between them.
bool is_document_kind(std::string_view kind) noexcept;

}  // namespace fastgpu::cli
