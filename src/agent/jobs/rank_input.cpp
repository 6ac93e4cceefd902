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

RankInput::RankInput(std::filesystem::path directory) : directory_(std::move(directory)) {
  make_pipe(directory_ / kInputEnd);
  make_pipe(directory_ / kInputPipe);
  end_ = open_pipe(directory_ / kInputEnd, O_RDWR | O_NONBLOCK);
  keeper_ = open_pipe(directory_ / kInputPipe, O_RDWR | O_NONBLOCK);
  program_ = open_pipe(directory_ / kInputPipe, O_RDONLY);
}

RankInput::~RankInput() {
  ::unlink((directory_ / kInputPipe).c_str());
  ::unlink((directory_ / kInputEnd).c_str());
}

void RankInput::end() noexcept {
  keeper_ = UniqueFd();
  end_ = UniqueFd();
}

}  // namespace fastgpu::agent
