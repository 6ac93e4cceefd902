// RECORD of an installed wheel: the list of its files (packaging.python.org, "Recording installed
// projects").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transfer/sha256.hpp"

namespace fastgpu::agent {

struct RecordedFile {
  std::string path;  ///< Relative to the packages' directory, "../../../bin/f2py".
  std::string hash;  ///< "sha256=" and the sum in URL-safe base64; may be empty.
  std::string size;  ///< The size in bytes; may be empty.
};

/// Parses a RECORD; absent for malformed text, and for names that need quotes.
std::optional<std::vector<RecordedFile>> parse_wheel_record(std::string_view text);
std::string to_text(const std::vector<RecordedFile>& files);

/// Returns the sum in RECORD's form.
std::string wheel_hash(const transfer::Digest& sum);

}  // namespace fastgpu::agent
