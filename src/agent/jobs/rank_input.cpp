#include "agent/jobs/rank_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

void make_pipe(const std::filesystem::path& path) {
  if (::mkfifo(path.c_str(), 0600) != 0 && errno != EEXIST)
    throw system_error("making " + path.string(), errno);
}

UniqueFd open_pipe(const std::filesystem::path& path, int flags) {
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC));
  if (!fd) throw system_error("opening " + path.string(), errno);
  return fd;
}

}  // namespace

std::string input_pipe(int rank) {
  return "input-" + std::to_string(rank);
}

std::string input_end(int rank) {
  return input_pipe(rank) + ".end";
}

RankInput::RankInput(const std::filesystem::path& directory, int rank)
    : pipe_path_(directory / input_pipe(rank)), end_path_(directory / input_end(rank)) {
  make_pipe(end_path_);
  make_pipe(pipe_path_);
  end_ = open_pipe(end_path_, O_RDWR | O_NONBLOCK);
  keeper_ = open_pipe(pipe_path_, O_RDWR | O_NONBLOCK);
  program_ = open_pipe(pipe_path_, O_RDONLY);
}

RankInput::~RankInput() {
  ::unlink(pipe_path_.c_str());
  ::unlink(end_path_.c_str());
}

void RankInput::end() noexcept {
  keeper_ = UniqueFd();
  end_ = UniqueFd();
}

}  // namespace fastgpu::agent
