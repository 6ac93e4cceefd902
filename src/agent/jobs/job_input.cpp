// `job-input`: receives the standard input of rank 0 as frames. It reports its position in lines
// and keeps it in the job's folder, so that the input can be sent again after a broken connection.
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "agent/files/disk.hpp"
#include "agent/jobs/rank_input.hpp"
#include "agent/options.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/subcommands.hpp"
#include "transfer/input_frames.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;
using transfer::InputFrame;
using transfer::InputKind;

constexpr int kNap = 50;  ///< Milliseconds between two checks for rank 0.

/// Thrown when no more input is needed because rank 0 has ended.
struct RankHasEnded {};

class JobInput {
 public:
  explicit JobInput(fs::path directory) : directory_(std::move(directory)) {}

  /// Runs until the input or rank 0 has ended. Throws local if the connection ends first.
  void run() try {
    transfer::InputDecoder decoder(
        [this](const InputFrame& frame, std::string_view bytes) { take(frame, bytes); });
    std::array<char, 65536> buffer;
    while (!complete_) {
      pollfd fd{STDIN_FILENO, POLLIN, 0};
      if (::poll(&fd, 1, 20 * kNap) == 0) {
        if (rank_has_ended()) return;
        continue;
      }
      const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) throw Error(ErrorKind::local, "the connection that brings input has ended");
      decoder.feed({buffer.data(), static_cast<std::size_t>(got)});
    }
  } catch (const RankHasEnded&) {
    return;
  }

 private:
  void take(const InputFrame& frame, std::string_view bytes) {
    const UniqueFd lock = lock_position();
    const UniqueFd pipe = open_pipe(frame.kind == InputKind::end ? kInputEnd : kInputPipe);
    if (frame.kind == InputKind::end) {
      complete_ = true;
      write_all(pipe.get(), "e");
      return;
    }
    const std::uint64_t at = position();
    if (frame.offset > at)
      throw Error(ErrorKind::usage, "standard input: bytes from " + std::to_string(at) + " to " +
                                        std::to_string(frame.offset) + " are missing");
    bytes.remove_prefix(std::min<std::uint64_t>(at - frame.offset, bytes.size()));
    pass_on(pipe, bytes, at);
    write_all(STDOUT_FILENO, std::to_string(position()) + "\n");
  }

  void pass_on(const UniqueFd& pipe, std::string_view bytes, std::uint64_t at) {
    while (!bytes.empty()) {
      const ssize_t put = ::write(pipe.get(), bytes.data(), bytes.size());
      if (put > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(put));
        at += static_cast<std::uint64_t>(put);
        note_position(at);
        continue;
      }
      if (put < 0 && errno == EPIPE) throw RankHasEnded();
      if (put < 0 && errno != EAGAIN && errno != EINTR)
        throw system_error("passing input to rank 0", errno);
      wait(pipe.get());
    }
  }

  /// Waits until the pipe has room, or, without a pipe, for a short time.
  static void wait(int pipe) {
    pollfd fds[] = {{pipe, POLLOUT, 0}, {STDIN_FILENO, POLLRDHUP, 0}};
    ::poll(fds, 2, kNap);
    if ((fds[1].revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0)
      throw Error(ErrorKind::local, "the connection that brings input has ended");
  }

  UniqueFd open_pipe(const char* name) const {
    const fs::path path = directory_ / name;
    for (;;) {
      UniqueFd pipe(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
      if (pipe) return pipe;
      // The pipe does not exist yet, or its rank has gone.
      if (errno != ENOENT && errno != ENXIO) throw system_error("opening " + path.string(), errno);
      if (rank_has_ended()) throw RankHasEnded();
      wait(-1);
    }
  }

  bool rank_has_ended() const {
    return fs::exists(directory_ / "ranks" / "0.status") || fs::exists(directory_ / "status") ||
           fs::exists(directory_ / kStoppedMark);
  }

  /// Locks the position, because a broken connection may have left another process of this kind.
  UniqueFd lock_position() const {
    UniqueFd file(::open((directory_ / "input.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file || ::flock(file.get(), LOCK_EX) != 0)
      throw system_error("locking the input of the job", errno);
    return file;
  }

  std::uint64_t position() const {
    const auto text = read_file(directory_ / "input.at");
    return text ? parse_number<std::uint64_t>(*text, "input.at") : 0;
  }

  void note_position(std::uint64_t at) const {
    write_atomically(directory_ / "input.at", std::to_string(at));
  }

  fs::path directory_;
  bool complete_ = false;
};

}  // namespace

int run_job_input(Arguments arguments) {
  OptionReader options(arguments);
  const auto directory = below_home(options.take_word("the job's directory"));
  options.expect_end();
  if (!fs::exists(directory / "rank"))
    throw Error(ErrorKind::not_found, directory.string() + ": no job is there");
  JobInput(directory).run();
  return 0;
}

}  // namespace fastgpu::agent
