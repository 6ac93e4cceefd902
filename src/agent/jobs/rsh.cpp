// `rsh`: starts mpirun's daemon on another node. mpirun writes a command for the login shell that
// it expects there; this program turns it into a command that every login shell reads in the same
// way.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "agent/options.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/subcommands.hpp"
#include "base/join.hpp"
#include "base/login_shell.hpp"
#include "base/quote.hpp"

namespace fastgpu::agent {
namespace {

/// Returns true for the syntax of csh, which mpirun writes for a user of csh or tcsh. /bin/sh
/// cannot read it, so that it goes unchanged to the node's login shell.
bool is_for_csh(const std::string& command) {
  return command.find("set path = (") != command.npos || command.find("setenv ") != command.npos;
}

/// Sets the job's marker on the other node, too. So processes that mpirun leaves there keep the
/// job's folder in use, and are ended with the job.
std::string marked(const std::string& command) {
  const std::string name(kJobMarker);
  const char* const job = ::getenv(name.c_str());
  if (job == nullptr) return command;
  if (is_for_csh(command)) return "setenv " + name + " " + shell_quote(job) + "; " + command;
  return name + "=" + shell_quote(job) + "; export " + name + "; " + command;
}

}  // namespace

int run_rsh(Arguments arguments) {
  OptionReader options(arguments);
  std::vector<std::string> argv = {"ssh"};
  if (options.take_flag("-x")) argv.emplace_back("-x");
  if (const auto config = options.take_value("-F")) argv.insert(argv.end(), {"-F", *config});
  argv.push_back(options.take_word("the node"));
  const std::string command = marked(joined(options.take_rest(), " "));
  argv.push_back(is_for_csh(command) ? command : login_shell_command(command));
  std::vector<char*> words;
  for (std::string& word : argv)
    words.push_back(word.data());
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  throw system_error("starting ssh", errno);
}

}  // namespace fastgpu::agent
