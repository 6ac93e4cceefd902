// A command line in the original's words, one a line, and after an empty one its create.cfg.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/program/legacy_syntax.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(text.find("\n\n"), size);
  std::istringstream lines(text.substr(0, end));
  std::vector<std::string> words;
  for (std::string word; std::getline(lines, word);)
    words.push_back(word);
  const std::string file = end < size ? text.substr(end + 2) : "";
  try {
    fastgpu::cli::translate_legacy_command(words, [&](const std::string&) { return file; });
  } catch (const fastgpu::Error&) {
  }
  return 0;
}
