// `put-files`: writes small private files that arrive on standard input; then, in the same round
// trip, what they were written for.
#include <unistd.h>

#include <array>
#include <cerrno>

#include "agent/disk.hpp"
#include "agent/options.hpp"
#include "agent/protocol/files.hpp"
#include "agent/subcommands.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::size_t kLargestInput = 64 << 20;

std::string read_input() {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error("reading the files", errno);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > kLargestInput)
      throw Error(ErrorKind::usage, "the files are larger than 64 MiB together");
  }
}

}  // namespace

int run_put_files(Arguments arguments) {
  Options options(arguments);
  const auto directory = below_home(options.take_word("the directory"));
  const bool wants_facts = options.take_flag("--facts");
  const auto job = options.take_value("--start");
  options.expect_end();
  const auto files = decode_files(read_input());  // All of it, before anything is written.
  make_private_directory(directory);
  for (const SmallFile& file : files) {
    const auto path = directory / file.name;
    make_private_directory(path.parent_path());
    write_atomically(path, file.content, file.mode);
  }
  const std::vector<std::string> with_mpirun = {"--mpirun"};
  if (wants_facts) return run_facts(with_mpirun);
  if (job) return run_job_start({&*job, 1});
  return 0;
}

}  // namespace fastgpu::agent
