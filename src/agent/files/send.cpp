#include "agent/files/send.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "agent/options.hpp"
#include "base/files.hpp"
#include "base/names.hpp"
#include "transfer/failure_status.hpp"
#include "transfer/home.hpp"
#include "transfer/tree_sender.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::size_t kLongestPath = 4096;

void write_out(std::string_view bytes) {
  fastgpu::write_all(STDOUT_FILENO, bytes, "writing the stream of files");
}

}  // namespace

int run_send(Arguments arguments) try {
  OptionReader options(arguments);
  const bool is_trial = options.take_flag("--try");
  options.take_flag("--");
  std::vector<std::filesystem::path> sources;
  for (const std::string& word : options.take_rest())
    sources.push_back(transfer::below_home(word));
  if (sources.empty()) throw Error(ErrorKind::usage, "send has no source");
  if (is_trial) {
    transfer::check_readable(sources);
    return 0;
  }
  transfer::TreeSender sender(sources, std::make_shared<transfer::FileSums>());
  while (const auto piece = sender.next())
    write_out(*piece);
  for (const std::string& path : sender.vanished())
    std::fprintf(stderr, "%s\n", printable(path, kLongestPath).c_str());
  return sender.vanished().empty() ? 0 : transfer::kSomeVanished;
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return transfer::failure_status(e.kind());
}

}  // namespace fastgpu::agent
