#include "transfer/resume.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/hex.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "transfer/kept_here.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::transfer {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(std::string_view text) {
  throw Error(ErrorKind::remote, "'" + printable(text) + "' is not a position to resume from");
}

std::uint64_t number(std::string_view digits, std::string_view whole) {
  const auto value = to_number<std::uint64_t>(digits);
  if (!value) refuse(whole);
  return *value;
}

/// Returns a text with everything by which a change of the file is detected.
std::string looks(const fs::path& path, bool follows) {
  struct stat info {};
  const int failed = follows ? ::stat(path.c_str(), &info) : ::lstat(path.c_str(), &info);
  if (failed != 0) throw system_error("looking at " + path.string(), errno);
  std::string text = path.string();
  for (const auto value : {std::int64_t{info.st_mode}, std::int64_t{info.st_size},
                           std::int64_t{info.st_mtim.tv_sec}, std::int64_t{info.st_mtim.tv_nsec}}) {
    text += '\0';
    text += S_ISDIR(info.st_mode) ? "directory" : std::to_string(value);
  }
  return text;
}

}  // namespace

std::string key_of(const std::vector<fs::path>& sources, const std::string& destination) try {
  const KeptHere kept_here;
  std::vector<std::string> entries;
  std::string names;
  for (const fs::path& source : sources) {
    names += '\0' + source.string();
    entries.push_back(looks(source, true));
    if (!fs::is_directory(source)) continue;
    for (auto item = fs::recursive_directory_iterator(source);
         item != fs::recursive_directory_iterator(); ++item) {
      struct stat info {};
      if (::lstat(item->path().c_str(), &info) == 0 && kept_here.has(info))
        item.disable_recursion_pending();
      entries.push_back(looks(item->path(), false));
    }
  }
  std::ranges::sort(entries);
  Sha256 sum;
  sum.add(names);
  for (const std::string& entry : entries)
    sum.add(entry + '\0');
  return sha256_hex(destination).substr(0, kPlaceDigits) +
         hex(sum.finish()).substr(0, kKeyDigits - kPlaceDigits);
} catch (const std::exception&) {
  return "";  // The copy itself will report their failure.
}

std::string to_text(const Position& position) {
  return std::to_string(position.files) + ":" + std::to_string(position.bytes);
}

Position parse_position(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) refuse(text);
  return {.files = number(text.substr(0, colon), text),
          .bytes = number(text.substr(colon + 1), text)};
}

std::string to_text(const Resumption& resumption) {
  return resumption.key + ":" + to_text(resumption.from);
}

Resumption parse_resumption(std::string_view text) {
  const std::string_view key = text.substr(0, std::min(text.find(':'), text.size()));
  if (key.size() != kKeyDigits || text.size() == key.size() || !is_hex(key)) refuse(text);
  return {.key = std::string(key), .from = parse_position(text.substr(key.size() + 1))};
}

}  // namespace fastgpu::transfer
