#include "launcher/full_temporary.hpp"

#include "base/names.hpp"
#include "base/quote.hpp"

namespace fastgpu::launcher {
namespace {

constexpr const char* kScript =
    "LC_ALL=C; export LC_ALL; place=${TMPDIR:-/tmp}; "
    "said=$({ file=$(mktemp \"$place/.fastgpu-room.XXXXXX\") && "
    "head -c 65536 /dev/zero >\"$file\"; rm -f \"$file\"; } 2>&1); "
    "case $said in *'No space left'*|*'quota exceeded'*) printf '%s\\n' \"$place\" ;; esac";

constexpr std::size_t kLongestPath = 200;

}  // namespace

std::string temporary_room_command() {
  return shell_join(std::vector<std::string>{"sh", "-c", kScript});
}

std::vector<state::FullDiskAt> full_directories_in(std::span<const NodeAnswer> answers) {
  std::vector<state::FullDiskAt> full;
  for (const NodeAnswer& answer : answers) {
    const std::string place = answer.out.substr(0, answer.out.find('\n'));
    if (answer.result.ok() && place.starts_with('/'))
      full.push_back({answer.result.host, printable(place, kLongestPath)});
  }
  return full;
}

std::vector<state::FullDiskAt> find_full_temporary(ssh::Client& client,
                                                   std::span<const ssh::Host> hosts,
                                                   std::chrono::milliseconds limit) {
  std::vector<NodeTask> tasks;
  for (const ssh::Host& host : hosts)
    tasks.push_back({.host = host, .command = temporary_room_command()});
  const Cancel never;
  return full_directories_in(ask(client, tasks, limit, never, limit));
}

}  // namespace fastgpu::launcher
