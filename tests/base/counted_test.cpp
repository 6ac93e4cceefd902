#include "base/counted.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

namespace fastgpu {
namespace {

TEST_SUITE_BEGIN("base/counted");

TEST_CASE("one thing has the singular, and any other number the plural") {
  CHECK(counted(0, "node") == "0 nodes");
  CHECK(counted(1, "node") == "1 node");
  CHECK(counted(1UL, "machine") == "1 machine");
  CHECK(counted(2, "machine") == "2 machines");
  CHECK(counted(3, "process") == "3 processes");
  CHECK(counted(2, "such node") == "2 such nodes");
}

/// A number in front of a plural (and not of an assignment in a shell's words), or a plural that is
/// chosen on the spot.
const std::regex kOwnPlural(
    R"re(std::to_string\([^;]{1,120}\)\s*\+\s*" (nodes|machines|hosts|ranks|slots|jobs|clusters|steps|images|places|processes|files)\b(?!=)|== 1 \? " ?([a-z]+)( [a-z]+)?:?" : " ?\2s)re");

TEST_CASE("no module makes its own plurals") {
  namespace fs = std::filesystem;
  for (const char* module : {"cli", "provision", "launcher", "envs", "src"})
    for (const auto& entry :
         fs::recursive_directory_iterator(std::string(FASTGPU_SOURCE_ROOT "/") + module)) {
      if (entry.path().extension() != ".cpp") continue;
      std::ifstream file(entry.path());
      std::string before;
      for (std::string line; std::getline(file, line); before = line) {
        const std::string both = before + line;  // An expression may go on in the next line.
        if (both.find("to_string(") == std::string::npos &&
            both.find("== 1 ?") == std::string::npos)
          continue;
        CHECK_MESSAGE(!std::regex_search(both, kOwnPlural), entry.path().string() << ": " << both);
      }
    }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
