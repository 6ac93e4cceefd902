// `env-python`, and the search behind it.
#include "agent/environments/find_python.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

#include "agent/environments/environment_call.hpp"
#include "agent/environments/node.hpp"
#include "agent/options.hpp"
#include "base/numbers.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPython = "python";

/// Returns true if `version` is `wanted` or more specific: "3.11.2" is a "3.11", a "3" and a
/// "3.11.2".
bool is_a(const std::string& version, const std::string& wanted) {
  return version == wanted || version.starts_with(wanted + ".");
}

/// Returns the numbers in a version: 3, 11 and 2 for "3.11.2".
std::vector<int> numbers_of(const std::string& version) {
  std::vector<int> numbers;
  std::istringstream parts(version);
  for (std::string part; std::getline(parts, part, '.');)
    numbers.push_back(leading_number<int>(part).value_or(0));
  return numbers;
}

bool fits(const std::string& version, const WantedPython& wanted) {
  return is_a(version, wanted.version) ||
         (wanted.or_newer && numbers_of(version) > numbers_of(wanted.version));
}

/// Returns true if a program with this name can be a suitable interpreter.
bool can_be(const std::string& name, const WantedPython& wanted) {
  if (!name.starts_with(kPython)) return false;
  const std::string version = name.substr(kPython.size());
  const bool is_number = version.find_first_not_of("0123456789.") == std::string::npos;
  return version.empty() || (is_number && (fits(version, wanted) || is_a(wanted.version, version)));
}

/// Returns the candidates in a directory, in a fixed order.
std::vector<fs::path> candidates_in(const fs::path& directory, const WantedPython& wanted) {
  std::vector<fs::path> found;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, failure))
    if (can_be(entry.path().filename(), wanted) && ::access(entry.path().c_str(), X_OK) == 0)
      found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

/// Returns the version of an interpreter; "" if the program is not a Python.
std::string version_of(const fs::path& interpreter) try {
  return python_version(interpreter);
} catch (const Error&) {
  return "";
}

}  // namespace

std::optional<FoundPython> find_python(const WantedPython& wanted) {
  const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');)
    for (const fs::path& interpreter : candidates_in(directory, wanted))
      if (std::string version = version_of(interpreter); fits(version, wanted))
        return FoundPython{interpreter, std::move(version)};
  return std::nullopt;
}

int run_env_python(Arguments arguments) {
  return run_call([&] {
    OptionReader options(arguments);
    const bool or_newer = options.take_flag("--or-newer");
    const WantedPython wanted{options.take_word("the version of Python"), or_newer};
    options.expect_end();
    const auto found = find_python(wanted);
    Records answer;
    answer.add("version", found ? found->version : "");
    write_answer(answer);
  });
}

}  // namespace fastgpu::agent
