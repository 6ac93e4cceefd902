#include "agent/files/send.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "agent/options.hpp"
#include "base/files.hpp"
#include "transfer/failure_status.hpp"
#include "transfer/node_path.hpp"
#include "transfer/tree_sender.hpp"

namespace fastgpu::agent {
namespace {

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
  if (sender.not_sent().empty()) return 0;
  std::fputs(to_text(sender.not_sent()).c_str(), stderr);
  return transfer::kSomeNotSent;
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return transfer::failure_status(e.kind());
}

}  // namespace fastgpu::agent
