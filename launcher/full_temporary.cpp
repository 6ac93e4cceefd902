#include "launcher/full_temporary.hpp"

#include "base/names.hpp"
#include "base/quote.hpp"
#include "base/split.hpp"

namespace fastgpu::launcher {
namespace {

/// mpirun makes the directory if it is missing. Prints the directory and the last line of the
/// complaint about it.
constexpr const char* kScript =
    "LC_ALL=C; export LC_ALL; place=${TMPDIR:-/tmp}; "
    "said=$({ mkdir -p \"$place\" && file=$(mktemp \"$place/.fastgpu-room.XXXXXX\") && "
    "head -c 65536 /dev/zero >\"$file\"; rm -f \"$file\"; } 2>&1); "
    "case $said in *'No space left'*|*'quota exceeded'*|*'Read-only file system'*|"
    "*'Permission denied'*|*'Not a directory'*) "
    "printf '%s\\n%s\\n' \"$place\" \"${said##*: }\" ;; esac";

constexpr std::size_t kLongestPath = 200;

}  // namespace

std::string temporary_room_command() {
  return shell_join(std::vector<std::string>{"sh", "-c", kScript});
}

std::vector<TemporaryFault> temporary_faults_in(std::span<const NodeAnswer> answers) {
  std::vector<TemporaryFault> faults;
  for (const NodeAnswer& answer : answers) {
    const auto lines = split_lines(answer.out);
    if (!answer.result.ok() || lines.size() != 2 || !lines[0].starts_with('/')) continue;
    faults.push_back(
        {answer.result.host, printable(lines[0], kLongestPath), printable(lines[1], kLongestPath)});
  }
  return faults;
}

std::vector<TemporaryFault> find_temporary_faults(ssh::Client& client,
                                                  std::span<const ssh::Host> hosts,
                                                  std::chrono::milliseconds limit) {
  std::vector<NodeTask> tasks;
  for (const ssh::Host& host : hosts)
    tasks.push_back({.host = host, .command = temporary_room_command()});
  const Cancel never;
  return temporary_faults_in(ask(client, tasks, limit, never, limit));
}

}  // namespace fastgpu::launcher
