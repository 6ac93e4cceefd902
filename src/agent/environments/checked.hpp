// Records the builds that were read completely, and detects files written to since.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace fastgpu::agent {

/// Gives a file of a build the time that all of them have: the first second of 2000, in UTC. A
/// later write changes it.
void set_build_time(const std::filesystem::path& file);
bool has_build_time(const struct stat& status) noexcept;

/// Records that the build in `version`, whose manifest has that SHA-256, matches its manifest. Best
/// effort: without a note it is read again if needed.
void note_checked(const std::filesystem::path& version, const std::string& manifest);
/// Returns whether the note exists; false from the next boot on. Unwritten data may then be lost,
/// and a file may have its size and its time without its content.
bool was_checked(const std::filesystem::path& version, const std::string& manifest);
void forget_checked(const std::filesystem::path& version) noexcept;

}  // namespace fastgpu::agent
