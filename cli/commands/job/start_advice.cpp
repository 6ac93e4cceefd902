#include "cli/commands/job/start_advice.hpp"

#include "base/names.hpp"
#include "base/split.hpp"
#include "launcher/users_command.hpp"
#include "process/interpreter.hpp"

namespace fastgpu::cli {

std::string start_advice(const launcher::JobSpec& spec, const EndOfStart& end,
                         const std::function<bool(const std::string&)>& is_here) {
  constexpr int kProgramNotFound = 127;
  const auto command = launcher::users_command(spec.argv);
  if (end.code != kProgramNotFound || command.empty()) return {};
  const std::string& program = command.front();
  if (end.reason.find(process::kItsInterpreter) != end.reason.npos)
    return "install that interpreter on the nodes, or name one that they have before the program: "
           "-- python3 " +
           printable(program);
  const auto words = split_words(program);
  if (command.size() == 1 && words.size() > 1)
    return "'" + printable(program) + "' is the name of one program: write its words apart (-- " +
           printable(words.front()) + " ...), or give them to a shell: sh -c '...'";
  if (program.find('/') == program.npos || !is_here(program)) return {};
  if (program.starts_with('/'))
    return printable(program) +
           " is on this machine and not on the nodes: copy it there with "
           "fastgpu cp, or its directory with --sync";
  if (!spec.sync.empty() || !spec.directory.empty()) return {};
  return printable(program) +
         " is on this machine: --sync . copies this directory to the nodes, and starts it there";
}

}  // namespace fastgpu::cli
