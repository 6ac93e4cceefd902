// `env-python`: which Python of a version this node has, where uv looks for one, too.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "agent/environments/call.hpp"
#include "agent/environments/node.hpp"
#include "agent/options.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPython = "python";

/// "3.11.2" is a 3.11, a 3 and a 3.11.2.
bool is_a(const std::string& version, const std::string& wanted) {
  return version == wanted || version.starts_with(wanted + ".");
}

/// Whether a program of that name can be an interpreter of the version.
bool can_be(const std::string& name, const std::string& wanted) {
  if (!name.starts_with(kPython)) return false;
  const std::string version = name.substr(kPython.size());
  const bool is_number = version.find_first_not_of("0123456789.") == std::string::npos;
  return version.empty() || (is_number && (is_a(version, wanted) || is_a(wanted, version)));
}

/// Of one directory, in an order that is always the same.
std::vector<fs::path> candidates_in(const fs::path& directory, const std::string& wanted) {
  std::vector<fs::path> found;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, failure))
    if (can_be(entry.path().filename(), wanted) && ::access(entry.path().c_str(), X_OK) == 0)
      found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

/// Of an interpreter that runs; a program of that name need not be one.
std::string version_of(const fs::path& interpreter) try {
  return python_version(interpreter);
} catch (const Error&) {
  return "";
}

std::string find_python(const std::string& wanted) {
  const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');)
    for (const fs::path& interpreter : candidates_in(directory, wanted))
      if (std::string version = version_of(interpreter); is_a(version, wanted)) return version;
  return "";
}

}  // namespace

int run_env_python(Arguments arguments) {
  return run_call([&] {
    Options options(arguments);
    const std::string wanted = options.take_word("the version of Python");
    options.expect_end();
    Records answer;
    answer.add("version", find_python(wanted));
    write_answer(answer);
  });
}

}  // namespace fastgpu::agent
