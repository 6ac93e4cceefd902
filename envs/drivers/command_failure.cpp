#include "envs/drivers/command_failure.hpp"

#include <algorithm>
#include <array>

#include "base/join.hpp"
#include "base/names.hpp"
#include "base/split.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::size_t kMostLines = 4;
constexpr std::size_t kLongestLine = 240;

/// Returns the program that runs: `env A=b program` is program.
std::string program_of(const Argv& argv) {
  for (std::size_t i = 0; i < argv.size(); ++i) {
    const bool is_prefix = (i == 0 && argv[i] == "env") || argv[i].find('=') != std::string::npos;
    if (!is_prefix) return argv[i];
  }
  return argv.empty() ? "" : argv.front();
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::string_view line : split_lines(text)) {
    line = line.substr(std::min(line.find_last_of('\r') + 1, line.size()));
    if (line.find_first_not_of(' ') != std::string_view::npos)
      lines.push_back(printable(line, kLongestLine));
  }
  return lines;
}

bool names_error(const std::string& line) {
  return line.starts_with("E: ") || line.starts_with("Error") || line.starts_with("dpkg: error");
}

/// Returns true for a heading; dnf may have the reason below it.
bool is_heading(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1) == "Error:";
}

/// Returns the lines that name errors; without any, the last ones.
std::string telling_lines(std::string_view said) {
  const std::vector<std::string> all = lines_of(said);
  std::vector<std::string> telling;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!names_error(all[i])) continue;
    if (is_heading(all[i])) {
      telling.assign(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end());
      telling.resize(std::min(telling.size(), kMostLines));
      break;
    }
    telling.push_back(all[i]);
  }
  if (telling.empty()) telling = all;
  const std::size_t first = telling.size() - std::min(telling.size(), kMostLines);
  std::string text;
  for (std::size_t i = first; i < telling.size(); ++i)
    append_item(text, telling[i].substr(telling[i].find_first_not_of(' ')), "; ");
  return text;
}

ErrorKind kind_of(std::string_view said) {
  struct Meaning {
    std::string_view words;
    ErrorKind kind;
  };
  constexpr std::array kMeanings = {
      Meaning{"No space left on device", ErrorKind::capacity},
      Meaning{"don't have enough free space", ErrorKind::capacity},
      Meaning{"Could not get lock", ErrorKind::conflict},
      Meaning{"Unable to acquire the dpkg frontend lock", ErrorKind::conflict},
      Meaning{"locked by another process", ErrorKind::conflict},
      Meaning{"NO_PUBKEY", ErrorKind::denied},
      Meaning{"is not signed", ErrorKind::denied},
      Meaning{"BADSIG", ErrorKind::denied},
      Meaning{"GPG check FAILED", ErrorKind::denied},
      Meaning{"Failed to fetch", ErrorKind::transient},
      Meaning{"Temporary failure", ErrorKind::transient},
      Meaning{"Could not connect", ErrorKind::transient},
      Meaning{"Could not resolve", ErrorKind::transient},
      Meaning{"Cannot download", ErrorKind::transient},
  };
  for (const Meaning& meaning : kMeanings)
    if (said.find(meaning.words) != std::string_view::npos) return meaning.kind;
  return ErrorKind::remote;
}

}  // namespace

Error command_failure(const Argv& argv, const ssh::Exit& exit, std::string_view said) {
  const std::string how = exit.signal.empty() ? "exited with " + std::to_string(exit.status)
                                              : "was killed by SIG" + exit.signal;
  const std::string why = telling_lines(said);
  return {kind_of(said), program_of(argv) + " " + how + (why.empty() ? "" : ": " + why)};
}

std::optional<std::string> waits_for(std::string_view said) {
  struct Saying {
    std::string_view beginning;
    std::string_view end;
  };
  // apt-get writes the line's end only when it looks again.
  constexpr std::array kSayings = {Saying{"Waiting for cache lock: ", "..."},
                                   Saying{"Waiting for process with pid ", "."}};
  for (const Saying& saying : kSayings) {
    const std::size_t begin = said.find(saying.beginning);
    if (begin == std::string_view::npos) continue;
    const std::size_t end = said.find(saying.end, begin);
    if (end == std::string_view::npos) continue;
    const std::size_t skipped = saying.end == "..." ? saying.beginning.size() : 0;
    return printable(said.substr(begin + skipped, end - begin - skipped), kLongestLine);
  }
  return std::nullopt;
}

}  // namespace fastgpu::envs
