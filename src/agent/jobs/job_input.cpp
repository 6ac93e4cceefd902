// `job-input`: receives the standard input of ranks of this node as frames. It reports its position
// in lines and keeps that of each rank in the job's folder, so that the input can be sent again
// after a broken connection.
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

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

constexpr int kNap = 50;  ///< Milliseconds between two checks for ranks.

/// Thrown when a rank needs no more input because it has ended.
struct RankHasEnded {};

/// Waits until the pipe has room, or, without a pipe, for a short time.
void wait_for_room(int pipe) {
  pollfd fds[] = {{pipe, POLLOUT, 0}, {STDIN_FILENO, POLLRDHUP, 0}};
  ::poll(fds, 2, kNap);
  if ((fds[1].revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0)
    throw Error(ErrorKind::local, "the connection that brings input has ended");
}

/// The way to one rank. Its calls throw RankHasEnded.
class InputOfRank {
 public:
  InputOfRank(fs::path directory, int rank) : directory_(std::move(directory)), rank_(rank) {}

  /// Returns the number of bytes that the rank has received.
  std::uint64_t position() const {
    const auto text = read_file(position_file());
    return text ? parse_number<std::uint64_t>(*text, "the position of the input") : 0;
  }

  /// Passes on the bytes from `offset` on that the rank has not received.
  void give(std::uint64_t offset, std::string_view bytes) const {
    const UniqueFd pipe = open_pipe(input_pipe(rank_));
    const std::uint64_t at = position();
    if (offset > at)
      throw Error(ErrorKind::usage, "standard input: bytes from " + std::to_string(at) + " to " +
                                        std::to_string(offset) + " are missing");
    bytes.remove_prefix(std::min<std::uint64_t>(at - offset, bytes.size()));
    pass_on(pipe, bytes, at);
  }

  void end() const { write_all(open_pipe(input_end(rank_)).get(), "e"); }

  bool has_ended() const {
    return fs::exists(directory_ / "ranks" / (std::to_string(rank_) + ".status")) ||
           fs::exists(directory_ / "status") || fs::exists(directory_ / kStoppedMark);
  }

 private:
  fs::path position_file() const { return directory_ / (input_pipe(rank_) + ".at"); }

  void pass_on(const UniqueFd& pipe, std::string_view bytes, std::uint64_t at) const {
    while (!bytes.empty()) {
      const ssize_t put = ::write(pipe.get(), bytes.data(), bytes.size());
      if (put > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(put));
        at += static_cast<std::uint64_t>(put);
        write_atomically(position_file(), std::to_string(at));
        continue;
      }
      if (put < 0 && errno == EPIPE) throw RankHasEnded();
      if (put < 0 && errno != EAGAIN && errno != EINTR)
        throw system_error("passing input to rank " + std::to_string(rank_), errno);
      wait_for_room(pipe.get());
    }
  }

  UniqueFd open_pipe(const std::string& name) const {
    const fs::path path = directory_ / name;
    for (;;) {
      UniqueFd pipe(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
      if (pipe) return pipe;
      // The pipe does not exist yet, or its rank has gone.
      if (errno != ENOENT && errno != ENXIO) throw system_error("opening " + path.string(), errno);
      if (has_ended()) throw RankHasEnded();
      wait_for_room(-1);
    }
  }

  fs::path directory_;
  int rank_;
};

class JobInput {
 public:
  JobInput(fs::path directory, const JobPlan& plan) : directory_(std::move(directory)) {
    for (const int rank : ranks_with_input(plan))
      ranks_.emplace_back(directory_, rank);
  }

  /// Runs until the input or all ranks have ended. Throws local if the connection ends first.
  void run() {
    transfer::InputDecoder decoder(
        [this](const InputFrame& frame, std::string_view bytes) { take(frame, bytes); });
    std::array<char, 65536> buffer;
    while (!complete_ && !ranks_.empty()) {
      pollfd fd{STDIN_FILENO, POLLIN, 0};
      if (::poll(&fd, 1, 20 * kNap) == 0) {
        std::erase_if(ranks_, [](const InputOfRank& rank) { return rank.has_ended(); });
        continue;
      }
      const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) throw Error(ErrorKind::local, "the connection that brings input has ended");
      decoder.feed({buffer.data(), static_cast<std::size_t>(got)});
    }
  }

 private:
  /// Gives a frame to the rank. Returns false if the rank has ended.
  static bool reaches(const InputOfRank& rank, const InputFrame& frame,
                      std::string_view bytes) try {
    if (frame.kind == InputKind::end)
      rank.end();
    else
      rank.give(frame.offset, bytes);
    return true;
  } catch (const RankHasEnded&) {
    return false;
  }

  void take(const InputFrame& frame, std::string_view bytes) {
    const UniqueFd lock = lock_position();
    std::erase_if(ranks_, [&](const InputOfRank& rank) { return !reaches(rank, frame, bytes); });
    complete_ = frame.kind == InputKind::end;
    if (complete_ || ranks_.empty()) return;
    std::uint64_t at = ranks_.front().position();
    for (const InputOfRank& rank : ranks_)
      at = std::min(at, rank.position());
    write_all(STDOUT_FILENO, std::to_string(at) + "\n");
  }

  /// Locks the positions, because a broken connection may have left another process of this kind.
  UniqueFd lock_position() const {
    UniqueFd file(::open((directory_ / "input.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file || ::flock(file.get(), LOCK_EX) != 0)
      throw system_error("locking the input of the job", errno);
    return file;
  }

  fs::path directory_;
  std::vector<InputOfRank> ranks_;
  bool complete_ = false;
};

}  // namespace

int run_job_input(Arguments arguments) {
  OptionReader options(arguments);
  const auto directory = below_home(options.take_word("the job's directory"));
  options.expect_end();
  const auto plan = read_file(directory / "rank");
  if (!plan)
    throw Error(ErrorKind::not_found,
                directory.string() + ": the job has not begun there, or its folder was removed");
  JobInput(directory, parse_plan(*plan)).run();
  return 0;
}

}  // namespace fastgpu::agent
