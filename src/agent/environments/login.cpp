#include "agent/environments/login.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "agent/files/disk.hpp"
#include "base/error.hpp"
#include "base/quote.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

/// A mark in our first line: the text before it had no newline at its end, or the file did not
/// exist.
constexpr std::string_view kMadeNewline = " (and the newline before)";
constexpr std::string_view kMadeLoginFile = " (and this file)";

/// Returns the startup files. Logins of all users read root's file. For other users, bash reads the
/// first one that exists.
std::vector<fs::path> start_up_files() {
  if (::geteuid() == 0) return {"/etc/profile.d/fastgpu.sh"};
  return {below_home(".bash_profile"), below_home(".bash_login"), below_home(".profile")};
}

/// Returns the first file that exists, else the last one.
fs::path start_up_file() {
  const auto files = start_up_files();
  const auto found =
      std::ranges::find_if(files, [](const fs::path& file) { return fs::exists(file); });
  return found == files.end() ? files.back() : *found;
}

std::string first_mark(const EnvironmentPlaces& places) {
  return "# fastgpu environments in " + places.prefix.string() + ": begin";
}

std::string last_mark(const EnvironmentPlaces& places) {
  return "# fastgpu environments in " + places.prefix.string() + ": end\n";
}

std::string lines(const EnvironmentPlaces& places, std::string_view remark) {
  const std::string script =
      shell_quote((details_of(places.active() / "current") / "activate.sh").string());
  return first_mark(places) + std::string(remark) + "\nif [ -r " + script + " ]; then . " + script +
         "; fi\n" + last_mark(places);
}

/// Rewrites a file. Keeps its owner and mode, and follows links to it.
void rewrite(const fs::path& file, const std::string& text) {
  struct stat status {};
  const bool there = ::stat(file.c_str(), &status) == 0;
  const fs::path real = there ? fs::canonical(file) : file;
  write_atomically(real, text, there ? status.st_mode & 07777U : 0644U);
  if (there && ::chown(real.c_str(), status.st_uid, status.st_gid) != 0 && errno != EPERM)
    throw system_error("keeping the owner of " + real.string(), errno);
}

void remove_login_lines_of(const EnvironmentPlaces& places, const fs::path& file) {
  const auto text = read_file(file);
  if (!text) return;
  const auto begin = text->find(first_mark(places));
  const auto end = text->find(last_mark(places));
  if (begin == std::string::npos || end == std::string::npos) return;
  const std::string remark = text->substr(begin + first_mark(places).size(), kMadeNewline.size());
  std::string front = text->substr(0, begin);
  const std::string back = text->substr(end + last_mark(places).size());
  if (remark.starts_with(kMadeNewline)) front.pop_back();
  if (remark.starts_with(kMadeLoginFile) && front.empty() && back.empty()) {
    fs::remove(file);  // Another node with the same home directory may have removed it.
    return;
  }
  rewrite(file, front + back);
}

}  // namespace

void add_login_lines(const EnvironmentPlaces& places) {
  const fs::path file = start_up_file();
  const auto before = read_file(file);
  if (before && before->find(first_mark(places)) != std::string::npos) return;
  if (!before) return rewrite(file, lines(places, kMadeLoginFile));
  const bool lacks_newline = !before->empty() && before->back() != '\n';
  rewrite(file, *before + (lacks_newline ? "\n" + lines(places, kMadeNewline) : lines(places, "")));
}

void remove_login_lines(const EnvironmentPlaces& places) {
  for (const fs::path& file : start_up_files())
    remove_login_lines_of(places, file);
}

}  // namespace fastgpu::agent
