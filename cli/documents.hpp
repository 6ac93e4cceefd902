// Which documents the commands show under -o json.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace fastgpu::cli {

struct DocumentsOf {
  std::string_view command;  ///< As Command::words() has it.
  std::array<std::string_view, 3> kinds_or_empty{};

  /// Returns the kinds that it may show: "clusters" is schema "fastgpu.clusters/1". Beside them
  /// every command may show "done", if it has nothing to show, "dry-run" and "error".
  std::span<const std::string_view> kinds() const noexcept {
    const auto* const end = std::ranges::find(kinds_or_empty, std::string_view());
    return {kinds_or_empty.begin(), end};
  }
};

/// One entry for each command.
std::span<const DocumentsOf> all_documents();

/// Returns true for a kind as all are written: words of a-z and 0-9 with '-' between them.
bool is_document_kind(std::string_view kind) noexcept;

}  // namespace fastgpu::cli
