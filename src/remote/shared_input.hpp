// Distributes our standard input to one or more hosts, which read it at different speeds.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"

namespace fastgpu::remote {

/// Reads ahead on a thread, by at most kMost bytes from the position of the slowest taker.
/// Thread-safe.
class SharedInput {
 public:
  static constexpr std::size_t kMost = 1UL << 20U;
  static constexpr std::size_t kPiece = 64UL * 1024;

  /// Borrows `fd`, which may be a file, a pipe or a socket.
  SharedInput(int fd, std::size_t takers);
  ~SharedInput();
  SharedInput(const SharedInput&) = delete;
  SharedInput& operator=(const SharedInput&) = delete;

  /// Returns the descriptor for ssh::RunOptions::wake. It is signalled when there is more to take.
  int wake() const noexcept { return wake_.get(); }

  /// A part of the input from an offset on.
  struct Piece {
    std::uint64_t offset = 0;
    std::string bytes;
  };
  /// Returns the next piece for a taker. It is empty if no more has been read yet, and absent at
  /// the end. Throws the error of the reading thread.
  std::optional<Piece> take(std::size_t taker);

  /// Drops the input before `offset`, which the taker does not need any more.
  void finish(std::size_t taker, std::uint64_t offset);
  /// Makes the taker start again from the first byte that it has not finished.
  void rewind(std::size_t taker);
  /// Removes the taker. The others continue.
  void leave(std::size_t taker);

 private:
  struct Taker {
    std::uint64_t taken = 0;
    std::uint64_t finished = 0;
    bool left = false;
  };

  void read_all(int fd);
  bool wait_for_room();
  void add(std::string_view bytes);
  void end(std::exception_ptr why);
  void forget_finished();
  void wake_takers() const noexcept;

  UniqueFd wake_;
  UniqueFd stop_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::string held_;         // The bytes that some taker has not finished.
  std::uint64_t first_ = 0;  // The offset of the first of them.
  std::vector<Taker> takers_;
  bool ended_ = false;
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::thread reader_;
};

/// When a piece counts as finished: once it is given to the connection, or once the other side
/// reports this.
enum class Finished : std::uint8_t { at_once, later };

/// Returns an ssh::Task's next_input that sends the input as frames (transfer/input_frames.hpp),
/// including its end. Borrows `input`.
std::function<std::optional<std::string>()> framed_input(SharedInput& input, std::size_t taker,
                                                         Finished finished);

}  // namespace fastgpu::remote
