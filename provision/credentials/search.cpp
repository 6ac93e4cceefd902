#include "provision/credentials/search.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.hpp"
#include "base/split.hpp"
#include "base/unique_fd.hpp"
#include "http/urls.hpp"

namespace fastgpu::provision::credentials {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestFile = 1U << 20U;

}  // namespace

std::string Search::variable(const char* name) const {
  return sources_.environment(name).value_or("");
}

std::string Search::key(const char* name) const {
  const std::string text = variable(name);
  const std::string_view key = trimmed(text, " \t\r\n");
  for (const char c : key)
    if (c <= ' ' || c > '~' || c == '"' || c == '\'')
      throw Error(ErrorKind::denied, std::string(name) + " has a blank, a quotation mark or a " +
                                         "character beyond ASCII in it, as no key has");
  return std::string(key);
}

std::string Search::first_variable(const std::vector<const char*>& names) const {
  for (const char* name : names)
    if (std::string value = variable(name); !value.empty()) return value;
  return {};
}

bool Search::is_true(const char* name) const {
  const std::string value = variable(name);
  return value == "1" || http::same_word(value, "true");
}

fs::path Search::path(const char* name, const char* in_home) const {
  const std::string given = variable(name);
  return given.empty() ? sources_.home / in_home : expand(given);
}

fs::path Search::expand(const std::string& path) const {
  return path.starts_with("~/") ? sources_.home / path.substr(2) : fs::path(path);
}

std::optional<std::string> Search::file(const fs::path& path) const {
  // A pipe without a writer must not block us.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (!fd) throw system_error("reading " + path.string(), errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw system_error("reading " + path.string(), errno);
  if (!S_ISREG(status.st_mode)) throw Error(ErrorKind::usage, path.string() + " is not a file");
  std::string text = read_to_end(fd.get(), "reading " + path.string(), kLargestFile);
  if (text.size() > kLargestFile)
    throw Error(ErrorKind::usage, path.string() + " is over 1 MiB: it is not a credentials file");
  return text;
}

Sections Search::ini(const fs::path& path) const {
  const auto text = file(path);
  return text ? parse_ini(*text, path.string()) : Sections{};
}

Error Search::not_found(const std::string& vendor, const std::string& advice) const {
  std::string places;
  for (std::size_t i = 0; i < looked_.size(); ++i) {
    if (i > 0) places += i + 1 == looked_.size() ? " and " : ", ";
    places += looked_[i];
  }
  return {ErrorKind::denied,
          "no credentials for " + vendor + ": looked at " + places + "; " + advice};
}

std::string setting(const Section& section, const char* key) {
  const auto found = section.find(key);
  return found == section.end() ? std::string() : found->second;
}

}  // namespace fastgpu::provision::credentials
