#include "cli/workflows/node_scripts/node_script.hpp"

#include <algorithm>

#include "base/names.hpp"
#include "base/quote.hpp"

namespace fastgpu::cli {

std::string script_command(const state::Node& node, const char* script,
                           const std::vector<std::string>& words) {
  std::vector<std::string> all = {"sh", "-c", script, "sh"};
  std::ranges::copy(words, std::back_inserter(all));
  if (node.user != "root") all.insert(all.begin(), {"sudo", "-n"});
  return shell_join(all);
}

std::optional<Error> script_failure(const launcher::NodeAnswer& answer, const std::string& what) {
  if (!answer.result.ok()) return answer.result.error();
  const int code = answer.result.value().code();
  if (code == 0) return std::nullopt;
  const std::string said = answer.err.substr(0, answer.err.find('\n'));
  return Error(ErrorKind::remote,
               answer.result.host.value + " could not " + what + ": " +
                   (said.empty() ? "exit status " + std::to_string(code) : printable(said, 200)));
}

}  // namespace fastgpu::cli
