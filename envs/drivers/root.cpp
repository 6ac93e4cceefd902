#include "envs/drivers/root.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/outcome.hpp"
#include "base/quote.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::size_t kMostSaid = 4096;

/// Returns the words before a program that make it root's. The password comes from the input,
/// without a prompt. -k: an earlier password does not count, and this one is not remembered there.
std::vector<std::string> starter(Sudo sudo) {
  switch (sudo) {
    case Sudo::free:
      return {"sudo", "-n", "--"};
    case Sudo::password:
      return {"sudo", "-k", "-S", "-p", "", "--"};
    case Sudo::not_needed:
    case Sudo::terminal:
    case Sudo::none:
      break;
  }
  return {};
}

std::function<std::optional<std::string>()> line_of(const Secret& password) {
  return [password, given = false]() mutable -> std::optional<std::string> {
    if (std::exchange(given, true)) return std::nullopt;
    return password.reveal() + "\n";
  };
}

/// Returns the last line with text.
std::string last_line(std::string_view said) {
  const std::size_t end = said.find_last_not_of(" \r\n");
  if (end == std::string_view::npos) return "";
  said = said.substr(0, end + 1);
  return printable(said.substr(said.find_last_of('\n') + 1), 200);
}

Outcome<void> answer_of(const HostResult<ssh::Exit>& ended, const std::string& user,
                        std::string_view said) {
  if (!ended.ok()) return ended.error();
  const int code = ended.value().code();
  if (code == 0) return {};
  const auto says = [&](const char* words) { return said.find(words) != std::string_view::npos; };
  if (says("not in the sudoers file") || says("not allowed to"))
    return Error(ErrorKind::denied, "sudo does not let '" + user + "' become root there");
  if (says("Sorry, try again"))
    return Error(ErrorKind::denied, "sudo refused the password of '" + user + "'");
  return Error(ErrorKind::denied, "sudo does not let '" + user +
                                      "' become root there: it exited with " +
                                      std::to_string(code) + ": " + last_line(said));
}

}  // namespace

void check_rights(const NodeFacts& facts, const std::optional<Secret>& sudo_password) {
  if (facts.sudo == Sudo::none)
    throw Error(ErrorKind::denied, "'" + facts.user +
                                       "' is not root there, and there is no sudo: only root can "
                                       "install drivers and packages");
  if (facts.sudo == Sudo::terminal)
    throw Error(ErrorKind::denied,
                "sudo requires a terminal there (requiretty in sudoers), but commands of fastgpu "
                "have none: write 'Defaults:" +
                    facts.user + " !requiretty' in sudoers, or connect as root");
  if (facts.sudo == Sudo::password && !sudo_password)
    throw Error(ErrorKind::denied,
                "sudo asks '" + facts.user +
                    "' for a password there: use --ask-sudo-password or --sudo-password-file, "
                    "allow sudo without a password (NOPASSWD in sudoers), or connect as root");
}

std::string root_command(const remote::AgentHash& agent, Sudo sudo,
                         const std::vector<std::string>& argv) {
  std::vector<std::string> words = {"exec", "--"};
  words.insert(words.end(), argv.begin(), argv.end());
  const std::vector<std::string> sudo_words = starter(sudo);
  if (sudo_words.empty()) return remote::agent_command(agent, words);
  return remote::agent_command_by(sudo_words, agent, words);
}

std::function<std::optional<std::string>()> root_input(Sudo sudo,
                                                       const std::optional<Secret>& sudo_password) {
  if (sudo != Sudo::password || !sudo_password) return {};
  return line_of(*sudo_password);
}

std::vector<Outcome<void>> try_password(ssh::Client& client, std::span<const ssh::Host> hosts,
                                        const std::vector<std::string>& users,
                                        const Secret& password, const ssh::RunOptions& options,
                                        const Cancel& cancel) {
  std::vector<std::string> words = {"exec", "env", "LC_ALL=C"};
  for (const std::string& word : starter(Sudo::password))
    words.push_back(word);
  words.push_back("true");
  const std::string command = shell_join(words);
  std::vector<std::string> said(hosts.size());
  std::vector<ssh::Task> tasks;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto hear = [&text = said[i]](std::string_view piece) {
      text += piece.substr(0, kMostSaid - text.size());
    };
    // The input ends after the line: sudo, which allows more tries, gives up at once.
    tasks.push_back({.host = hosts[i],
                     .command = command,
                     .on_stdout = hear,
                     .on_stderr = hear,
                     .next_input = line_of(password)});
  }
  const auto ended = client.run(std::move(tasks), options, cancel);
  std::vector<Outcome<void>> answers;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    answers.push_back(answer_of(ended[i], users[i], said[i]));
  return answers;
}

}  // namespace fastgpu::envs
