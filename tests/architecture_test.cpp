// Who may include whom: the table of docs/architecture.md, enforced.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;
using Modules = std::set<std::string>;

const std::map<std::string, Modules> kMayInclude = {
    {"base", {}},
    {"precompiled", {"precompiled"}},
    {"config", {"base"}},
    {"http", {"base"}},
    {"process", {"base"}},
    {"ssh", {"base"}},
    {"transfer", {"base"}},
    {"state", {"base", "config"}},
    {"remote", {"base", "ssh", "transfer"}},
    {"provision", {"base", "config", "http", "process", "state", "transfer"}},
    {"launcher", {"agent", "base", "config", "process", "remote", "ssh", "state"}},
    {"envs", {"agent", "base", "config", "http", "process", "remote", "ssh", "state", "transfer"}},
    {"agent", {"base", "process", "transfer"}},
    {"comm", {"base"}},
    {"cli",
     {"base", "comm", "config", "envs", "http", "launcher", "process", "provision", "remote", "ssh",
      "state"}},
};

/// The modules that one file includes, as written: #include "module/file.hpp".
Modules included_by(const fs::path& file) {
  static const std::regex kInclude(R"re(^\s*#include "([a-z]+)/)re");
  Modules found;
  std::ifstream in(file);
  std::smatch match;
  for (std::string line; std::getline(in, line);)
    if (std::regex_search(line, match, kInclude)) found.insert(match[1]);
  return found;
}

fs::path folder_of(const std::string& module) {
  const fs::path root = FASTGPU_SOURCE_ROOT;
  return fs::exists(root / "src" / module) ? root / "src" / module : root / module;
}

bool is_source(const fs::path& file) {
  const std::string suffix = file.extension();
  return suffix == ".cpp" || suffix == ".hpp" || suffix == ".c" || suffix == ".h";
}

TEST_SUITE_BEGIN("architecture");

TEST_CASE("every module includes only the modules below it") {
  for (const auto& [module, allowed] : kMayInclude) {
    const fs::path folder = folder_of(module);
    REQUIRE_MESSAGE(fs::exists(folder), "no folder for module " << module);
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!is_source(entry.path())) continue;
      for (const std::string& used : included_by(entry.path())) {
        const bool permitted = used == module || allowed.contains(used);
        CHECK_MESSAGE(permitted, entry.path().string() << " may not include " << used);
      }
    }
  }
}

TEST_CASE("every folder with sources is in the table") {
  const fs::path root = FASTGPU_SOURCE_ROOT;
  for (const auto& entry : fs::directory_iterator(root / "src")) {
    if (!entry.is_directory()) continue;
    CHECK_MESSAGE(kMayInclude.contains(entry.path().filename()),
                  "src/" << entry.path().filename().string() << " is missing in the table");
  }
}

TEST_CASE("a path that may not be looked at is not taken for a missing one") {
  // std::filesystem::exists does, or throws what is no Error: base/file_status.hpp is for that.
  static const std::regex kExists(R"re(\b(fs|filesystem)::exists\()re");
  for (const char* module : {"config", "http", "process", "ssh", "state", "remote", "provision",
                             "launcher", "envs", "cli"})
    for (const auto& entry : fs::recursive_directory_iterator(folder_of(module))) {
      if (!is_source(entry.path())) continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);)
        CHECK_MESSAGE(!std::regex_search(line, kExists), entry.path().string() << ": " << line);
    }
}

TEST_SUITE_END();

}  // namespace
