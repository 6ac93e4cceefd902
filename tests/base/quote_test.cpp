#include "base/quote.hpp"

#include <doctest/doctest.h>

#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/files.hpp"
#include "base/login_shell.hpp"
#include "base/pipe.hpp"

namespace fastgpu {
namespace {

/// What a real shell makes of `words`: printf prints each between angle brackets.
std::string through_a_shell(const std::vector<std::string>& words) {
  const std::string command = "printf '<%s>' " + shell_join(words);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::array<char, 4096> buffer{};
  const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe.get());
  return {buffer.data(), n};
}

TEST_SUITE_BEGIN("base/quote");

TEST_CASE("plain words stay readable") {
  CHECK(shell_quote("a-b_c/d.e=f:g,h@i%j+k") == "a-b_c/d.e=f:g,h@i%j+k");
  CHECK(shell_quote("") == "''");
}

TEST_CASE("every word arrives unchanged through a shell") {
  const std::vector<std::string> words = {
      "a b", "it's",      "\"q\"", "$HOME", "`id`", "; rm -rf x", "line\nbreak", "*",
      "~",   "\\",        "!x",    "ä€",    "",     "#c",         "a\tb",        "-n",
      "'",   "''a'b''c'", "&",     "|",     "<>",   "{a,b}",      "$(id)",       "\x01"};
  std::string expected;
  for (const std::string& word : words)
    expected += "<" + word + ">";
  CHECK(through_a_shell(words) == expected);
}

/// What a program that `shell` was told to start prints, and how it ended.
std::pair<std::string, int> by_shell(std::vector<const char*> shell, const std::string& command) {
  Pipe output = make_pipe();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(output.write_end.get(), STDOUT_FILENO);
    shell.insert(shell.end(), {"-c", command.c_str(), nullptr});
    ::execvp(shell[0], const_cast<char* const*>(shell.data()));
    ::_exit(127);
  }
  output.write_end = UniqueFd();
  const std::string out = read_to_end(output.read_end.get(), "reading what the shell prints");
  int status = 0;
  ::waitpid(pid, &status, 0);
  return {out, status};
}

TEST_CASE("a command means the same to every login shell that is installed here") {
  std::string every_byte;
  for (int byte = 1; byte < 256; ++byte)
    every_byte += static_cast<char>(byte);
  const std::vector<std::string> words = {
      "printf", "<%s>", every_byte, "",    "=ls",  "!!", "'\\'",  "a\nb\n", "\\' ; echo ran #",
      "ends\\", "~",    "\\0101",   "\\c", "%d%%", "-n", "$(id)", "{a,b}",  std::string(300, '!')};
  std::string expected;
  for (std::size_t i = 2; i < words.size(); ++i)
    expected += "<" + words[i] + ">";
  const std::string command = login_shell_command("exec " + shell_join(words));
  CHECK(command.find('\n') == command.npos);
  const std::vector<std::vector<const char*>> shells = {{"sh"},   {"bash"},  {"dash"},
                                                        {"zsh"},  {"fish"},  {"tcsh"},
                                                        {"mksh"}, {"ksh93"}, {"busybox", "ash"}};
  for (const auto& shell : shells) {
    CAPTURE(shell[0]);
    const auto [out, status] = by_shell(shell, command);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) continue;  // Not installed.
    CHECK(out == expected);
    CHECK(status == 0);
    CHECK(WEXITSTATUS(by_shell(shell, login_shell_command("exit 42")).second) == 42);
    CHECK(WTERMSIG(by_shell(shell, login_shell_command("kill -9 $$")).second) == 9);
  }
}

TEST_CASE("an alias of a start-up file changes no command") {
  const std::string in_posix = "alias exec='echo aliased'; alias echo='exec false'\n";
  const std::string in_csh = "alias exec 'echo aliased'; alias echo 'exec false'\n";
  const std::string line = login_shell_command("echo here");
  const std::vector<std::pair<std::vector<const char*>, std::string>> shells = {
      {{"bash"}, "shopt -s expand_aliases\n" + in_posix},
      {{"dash"}, in_posix},
      {{"zsh"}, in_posix},
      {{"fish"}, "alias sh='echo aliased'; abbr exec 'echo aliased'\n"},
      {{"tcsh"}, in_csh},
      {{"mksh"}, in_posix},
      {{"ksh93"}, in_posix},
      {{"busybox", "ash"}, in_posix}};
  for (const auto& [shell, start_up] : shells) {
    CAPTURE(shell[0]);
    const auto [out, status] = by_shell(shell, start_up + line);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) continue;  // Not installed.
    CHECK(out == "here\n");
  }
}

TEST_CASE("a command of plain words can be read") {
  CHECK(login_shell_command("exec uname -m").ends_with("; exec uname -m'"));
  CHECK(login_shell_command("test \"$x\" && exec y").ends_with("; test \"$x\" && exec y'"));
}

TEST_CASE("a command has the home directory of its account if the start-up files left none") {
  const std::string shown = login_shell_command("echo $HOME");
  const passwd* const account = ::getpwuid(::getuid());
  REQUIRE(account != nullptr);
  const std::string home = account->pw_dir;
  for (const std::string start_up : {"unset HOME\n", "export HOME=\n", "export HOME=here\n"})
    CHECK(by_shell({"sh"}, start_up + shown).first == home + "\n");
  CHECK(by_shell({"sh"}, "export HOME=/elsewhere\n" + shown).first == "/elsewhere\n");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
