// Our standard input on its way to one or more hosts, which take it at different speeds.
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

/// Reads ahead, in a thread of its own, by at most kMost bytes from the position of the slowest
/// taker. Calls may come from any thread.
class SharedInput {
 public:
  static constexpr std::size_t kMost = 1UL << 20U;
  static constexpr std::size_t kPiece = 64UL * 1024;

  /// Borrows `fd`, which may be a file, a pipe or a socket.
  SharedInput(int fd, std::size_t takers);
  ~SharedInput();
  SharedInput(const SharedInput&) = delete;
  SharedInput& operator=(const SharedInput&) = delete;

  /// Returns the descriptor for ssh::RunOptions::wake: written to when there is more to take.
  int wake() const noexcept { return wake_.get(); }

  /// A part of the input from an offset on.
  struct Piece {
    std::uint64_t offset = 0;
    std::string bytes;
  };
  /// Returns the next piece for that taker: empty if no more has been read yet, absent at the end.
  /// Throws the error of reading.
  std::optional<Piece> take(std::size_t taker);

  /// Drops the input before `offset`, which the taker needs no more.
  void finish(std::size_t taker, std::uint64_t offset);
  /// Takes again from the first byte that is not finished.
  void rewind(std::size_t taker);
  /// Removes the taker; the others go on.
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
  std::string held_;         // The bytes that some taker has not finished,
  std::uint64_t first_ = 0;  // from this offset on.
  std::vector<Taker> takers_;
  bool ended_ = false;
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::thread reader_;
};

/// The point at which a piece is finished: when it is handed to the connection, or when the other
/// side reports it to the taker.
enum class Finished : std::uint8_t { at_once, later };

/// Returns an ssh::Task's next_input that sends the input as frames (transfer/input_frames.hpp),
/// the end included. Borrows `input`.
std::function<std::optional<std::string>()> framed_input(SharedInput& input, std::size_t taker,
                                                         Finished finished);

}  // namespace fastgpu::remote
