// `rsh`: starts a program of a job on another node. The command is written for the login shell that
// is expected there; this program turns it into one that every login shell reads in the same way.
#include "agent/jobs/rsh.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "agent/jobs/search_paths.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/subcommands.hpp"
#include "base/error.hpp"
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
/// job's folder in use, and are ended with the job. Ranks there find the paths of a login.
std::string marked(const std::string& command) {
  const std::string name(kJobMarker);
  const char* const job = ::getenv(name.c_str());
  if (job == nullptr) return command;
  const std::string value = shell_quote(job);
  const bool is_csh = is_for_csh(command);
  const std::string mark = is_csh ? "setenv " + name + " " + value + "; "
                                  : name + "=" + value + "; export " + name + "; ";
  return mark + words_to_keep_login_paths(is_csh) + command;
}

}  // namespace

RemoteStart take_remote_start(OptionReader& words) {
  RemoteStart start{.ssh = {"ssh"}, .node = {}, .command = {}};
  if (words.take_flag("-x")) start.ssh.emplace_back("-x");
  if (const auto config = words.take_value("-F"))
    start.ssh.insert(start.ssh.end(), {"-F", *config});
  start.node = words.take_word("the node");
  start.command = joined(words.take_rest(), " ");
  return start;
}

std::vector<std::string> ssh_command(const RemoteStart& start) {
  std::vector<std::string> command = start.ssh;
  command.push_back(start.node);
  const std::string there = marked(start.command);
  command.push_back(is_for_csh(there) ? there : login_shell_command(there));
  return command;
}

void become(std::vector<std::string> command) {
  std::vector<char*> words;
  for (std::string& word : command)
    words.push_back(word.data());
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  throw system_error("starting " + command.front(), errno);
}

int run_rsh(Arguments arguments) {
  OptionReader words(arguments);
  become(ssh_command(take_remote_start(words)));
}

}  // namespace fastgpu::agent
