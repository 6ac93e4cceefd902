#include "cli/workflows/node_scripts/node_script.hpp"

#include <algorithm>

#include "base/names.hpp"
#include "base/outcome.hpp"
#include "base/quote.hpp"
#include "base/split.hpp"

namespace fastgpu::cli {

std::string user_script_command(const char* script, const std::vector<std::string>& words) {
  std::vector<std::string> all = {"sh", "-c", script, "sh"};
  std::ranges::copy(words, std::back_inserter(all));
  return shell_join(all);
}

std::string script_command(const state::Node& node, const char* script,
                           const std::vector<std::string>& words) {
  const std::string command = user_script_command(script, words);
  return node.user == "root" ? command : "sudo -n " + command;
}

namespace {

/// Returns the first line, without those by which sudo complains of the name of its host and goes
/// on.
std::string complaint_in(std::string_view errors) {
  for (const std::string_view line : split_lines(errors))
    if (!line.empty() && !line.starts_with("sudo: unable to resolve host"))
      return std::string(line);
  return {};
}

/// Returns what gives the user root's rights on a node, if `said` is that there are none; else "".
std::string_view way_to_root(std::string_view said) {
  if (said.starts_with("this needs root")) return "connect as root";
  if (said.find("sudo: ") == said.npos && said.find("not in the sudoers file") == said.npos &&
      said.find("is not allowed to") == said.npos)
    return {};
  if (said.find("not found") != said.npos) return "install sudo there, or connect as root";
  if (said.find("must have a tty") != said.npos)
    return "write 'Defaults !requiretty' in sudoers, or connect as root";
  return "allow sudo without a password (NOPASSWD in sudoers), or connect as root";
}

}  // namespace

void check_script(const launcher::NodeAnswer& answer, const std::string& what) {
  const int code = answer.result.value().code();
  if (code == 0) return;
  const std::string said = complaint_in(answer.err);
  const std::string_view way = way_to_root(said);
  throw Error(way.empty() ? ErrorKind::remote : ErrorKind::denied,
              answer.result.host.value + " could not " + what + ": " +
                  (said.empty() ? "exit status " + std::to_string(code) : printable(said, 200)) +
                  (way.empty() ? "" : "; ") + std::string(way));
}

HostResult<provision::Reached> reached_by(const launcher::NodeAnswer& answer,
                                          const std::string& what) {
  return {answer.result.host, attempt([&] {
            check_script(answer, what);
            return provision::Reached{};
          })};
}

}  // namespace fastgpu::cli
