#include "transfer/asked_names.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "base/names.hpp"
#include "transfer/paths.hpp"

namespace fastgpu::transfer {
namespace {

bool is_home(const std::string& source) {
  return source.empty() || source == "~" ||
         (source.starts_with("~/") && source.find_first_not_of('/', 1) == source.npos);
}

Error refused(const std::string& name, const std::string& why) {
  return {ErrorKind::denied, "it sent '" + printable(name) + "', " + why +
                                 "; nothing of it was written (a node chooses no names here)"};
}

}  // namespace

AskedNames::AskedNames(std::span<const std::string> sources, const std::string& home_name) {
  for (const std::string& source : sources) {
    const std::string name = is_home(source) ? home_name : top_name(source);
    if (name.empty()) {
      takes_any_ = true;
      continue;
    }
    Wanted& wanted = wanted_[name];
    ++wanted.count;
    wanted.must_be_directory = is_home(source) || source.ends_with('/');
  }
}

void AskedNames::take(const std::string& path, EntryKind kind) {
  if (takes_any_) return;
  const auto slash = path.find('/');
  const std::string top = path.substr(0, slash);
  const auto found = wanted_.find(top);
  if (found == wanted_.end()) throw refused(top, "which was not asked for");
  if (slash != path.npos) return;
  Wanted& wanted = found->second;
  if (wanted.count-- == 0) throw refused(top, "which it had sent already");
  if (kind == EntryKind::link || (wanted.must_be_directory && kind != EntryKind::directory))
    throw refused(top, kind == EntryKind::link ? "a symbolic link, in place of what it leads to"
                                               : "which is not a directory");
}

void AskedNames::check_complete() const {
  for (const auto& [name, wanted] : wanted_)
    if (wanted.count > 0)
      throw Error(ErrorKind::remote, "'" + printable(name) + "' was asked for and did not come");
}

}  // namespace fastgpu::transfer
