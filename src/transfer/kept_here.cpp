#include "transfer/kept_here.hpp"

#include <algorithm>
#include <mutex>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::transfer {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestSource = 4096;

struct Registry {
  std::mutex mutex;
  std::vector<KeptDirectory> directories;
};

/// Returns the registry of the process: no copy may miss it because a caller did not pass it on.
Registry& registry() {
  static Registry one;
  return one;
}

}  // namespace

void keep_here(std::vector<KeptDirectory> directories) {
  const std::lock_guard lock(registry().mutex);
  registry().directories = std::move(directories);
}

KeptHere::KeptHere() {
  const std::lock_guard lock(registry().mutex);
  for (const KeptDirectory& directory : registry().directories) {
    struct stat info {};
    if (::stat(directory.path.c_str(), &info) == 0) kept_.emplace_back(id_of(info), directory);
  }
}

bool KeptHere::has(const struct stat& info) const {
  return S_ISDIR(info.st_mode) &&
         std::ranges::any_of(kept_, [&](const auto& kept) { return kept.first == id_of(info); });
}

void KeptHere::check_source(const fs::path& source) const {
  if (kept_.empty()) return;
  std::error_code unknown;
  fs::path at = fs::canonical(source, unknown);
  if (unknown) return;  // The copy itself reports it.
  for (std::string below;; below = at.filename().string(), at = at.parent_path()) {
    struct stat info {};
    if (::stat(at.c_str(), &info) == 0)
      for (const auto& [id, directory] : kept_)
        if (id == id_of(info) && (below.empty() || below != directory.open))
          throw Error(ErrorKind::usage, printable(source.string(), kLongestSource) +
                                            " is not copied to nodes: " + directory.path.string() +
                                            " is for fastgpu's own keys and records");
    if (at == at.root_path()) return;
  }
}

}  // namespace fastgpu::transfer
