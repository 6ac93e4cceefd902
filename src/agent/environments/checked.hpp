// Records which builds were checked completely, and detects files that were changed since.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace fastgpu::agent {

/// Sets the file's modification time to that of all files in builds: the first second of 2000, UTC.
/// A later write changes it.
void set_build_time(const std::filesystem::path& file);
bool has_build_time(const struct stat& status) noexcept;

/// Records that the build in `version` matches its manifest, whose SHA-256 is `manifest`. Best
/// effort: without the note, the build is read again when necessary.
void note_checked(const std::filesystem::path& version, const std::string& manifest);
/// Returns true if the note exists and is of the present boot. After a power failure, unwritten
/// data may be lost: a file may have its size and its time but not its content.
bool was_checked(const std::filesystem::path& version, const std::string& manifest);
void forget_checked(const std::filesystem::path& version) noexcept;

}  // namespace fastgpu::agent
