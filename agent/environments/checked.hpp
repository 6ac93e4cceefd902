// Which builds were read to the last byte, and which of their files nobody has written into since.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace fastgpu::agent {

/// Gives a file of a build the time that all of them have, whatever it was before: the first second
/// of 2000, in UTC. Whoever writes into it later gives it another.
void set_build_time(const std::filesystem::path& file);
bool has_build_time(const struct stat& status) noexcept;

/// Writes down that all of the build in `version`, whose manifest has that sum, is what its
/// manifest says. Best effort: without a note it is read again where that matters.
void note_checked(const std::filesystem::path& version, const std::string& manifest);
/// False from the next boot on: what was on its way to the disk may have been lost, and a file may
/// have its size and its time without its content.
bool was_checked(const std::filesystem::path& version, const std::string& manifest);
void forget_checked(const std::filesystem::path& version) noexcept;

}  // namespace fastgpu::agent
