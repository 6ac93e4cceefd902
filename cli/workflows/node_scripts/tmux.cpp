#include "cli/workflows/node_scripts/tmux.hpp"

#include <algorithm>
#include <sstream>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/quote.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kLongestName = 40;
constexpr std::size_t kMostSaid = 300;

/// Returns the word escaped for tmux: it takes ';' at the end of a word for the end of a command,
/// unless a backslash is before it.
std::string for_tmux(std::string word) {
  if (word.ends_with(';')) word.insert(word.size() - 1, "\\");
  return word;
}

/// Returns the program for tmux, which would pass a single word to a shell.
std::vector<std::string> for_tmux(std::vector<std::string> program) {
  if (program.size() == 1) program.insert(program.begin(), {"/bin/sh", "-c", "exec \"$0\""});
  std::ranges::transform(program, program.begin(), [](const auto& word) { return for_tmux(word); });
  return program;
}

}  // namespace

void check_session_name(const std::string& name) {
  const auto good = [](char c) { return is_ascii_letter_or_digit(c) || c == '-' || c == '_'; };
  if (name.empty() || name.size() > kLongestName || name.starts_with('-') ||
      !std::ranges::all_of(name, good))
    throw Error(ErrorKind::usage, "session name '" + printable(name) + "' is not 1 to " +
                                      std::to_string(kLongestName) +
                                      " letters, digits, '_' and '-', not beginning with '-'");
}

std::string tmux_command(const std::string& session, const std::vector<std::string>& program,
                         TmuxStart start) {
  const bool makes_one = start == TmuxStart::detached || !program.empty();
  std::vector<std::string> tmux = {"exec", "tmux", "new-session"};
  tmux.emplace_back(start == TmuxStart::detached ? "-d" : "-A");
  tmux.insert(tmux.end(), {"-s", session});
  if (!program.empty()) {
    const auto words = for_tmux(program);
    tmux.emplace_back("--");
    tmux.insert(tmux.end(), words.begin(), words.end());
  }
  std::string script = "command -v tmux >/dev/null || exit 127\n";
  if (makes_one)
    script += "tmux has-session -t " + shell_quote("=" + session) + " 2>/dev/null && exit 126\n";
  script += shell_join(tmux);
  const std::vector<std::string> words = {"exec", "/bin/sh", "-c", script};
  return shell_join(words);
}

std::vector<std::string> list_sessions_argv() {
  return {"/bin/sh", "-c",
          "command -v tmux >/dev/null || exit 0\n"
          "exec tmux list-sessions -F '#{session_created} #{session_attached} #{session_windows} "
          "#{session_name}'"};
}

std::string listing_failure(int code, std::string_view said) {
  while (said.ends_with('\n'))
    said.remove_suffix(1);
  const bool is_one_line = said.find('\n') == said.npos;
  const bool is_no_server =
      said.starts_with("no server running") || said == "no sessions" ||
      (said.starts_with("error connecting to ") && said.ends_with("(No such file or directory)"));
  if (code == 0 || (is_one_line && is_no_server)) return "";
  return "tmux exited with " + std::to_string(code) +
         (said.empty() ? "" : ": " + printable(said, kMostSaid));
}

std::vector<TmuxSession> parse_sessions(std::string_view text) {
  std::vector<TmuxSession> sessions;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    TmuxSession session;
    if (fields >> session.created >> session.clients >> session.windows && fields.get() == ' ' &&
        std::getline(fields, session.name))
      sessions.push_back(std::move(session));
  }
  return sessions;
}

}  // namespace fastgpu::cli
