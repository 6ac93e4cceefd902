// One of the connections between two ranks: frames in both directions, without waiting.
#pragma once

#include <netinet/tcp.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/transports/flow.hpp"
#include "comm/transports/one_way_stream.hpp"
#include "comm/transports/tcp_frame.hpp"

namespace fastgpu::comm {

class TcpFlow final : public Flow {
 public:
  /// Takes a connected stream socket. Borrows the counters of its network.
  TcpFlow(UniqueFd socket, LinkCounters& link);

  int socket() const noexcept override { return socket_.get(); }
  bool is_open() const noexcept override { return static_cast<bool>(socket_); }
  bool has_ended() const noexcept override { return has_ended_; }
  bool has_failed() const noexcept override { return has_failed_; }
  bool carries_notices() const noexcept override { return true; }

  /// Gives the socket away, and forgets what is half written.
  Remains give_up() noexcept override;
  void abandon() override;

  // ---- sending ----
  std::size_t longest_chunk() const noexcept override {
    return is_within_host_ ? kMostChunkBytes : kChunkBytes;
  }
  bool is_idle() const noexcept override { return head_begin_ == head_.size() && body_.empty(); }
  bool is_quiet() const noexcept override;
  bool may_join() const noexcept override {
    return !has_ended_ && owner_ == nullptr && body_.empty() && head_.size() < kMostJoined;
  }
  void begin(const Frame& frame, std::span<const std::byte> body, Outgoing* owner) override;
  void begin_copy(const Frame& frame, std::span<const std::byte> body) override;
  bool write() override;
  Outgoing* owner() const noexcept override { return owner_; }
  std::size_t body_bytes() const noexcept override { return body_size_; }
  void disown() noexcept override { owner_ = nullptr; }

  // ---- receiving ----
  bool read(FrameEvents& events) override;
  bool has_left() const noexcept override { return has_left_; }
  bool is_silent() const noexcept override;
  const char* silence() const noexcept override { return "0.25 s"; }

 private:
  void add_header(Frame frame);
  void let_join(bool may_join) noexcept;
  void acknowledge() noexcept { set_option(TCP_QUICKACK, true); }
  void set_option(int option, int value) noexcept;
  ssize_t send(std::span<const std::byte> head, std::span<const std::byte> body);
  std::size_t receive(std::span<std::byte> into, std::span<std::byte> ahead);
  std::size_t moved(ssize_t result);
  [[noreturn]] void end(int error);
  [[noreturn]] void fail(int error);
  bool read_ahead();
  bool begin_next_part() noexcept;
  std::span<std::byte> room_ahead() const noexcept;
  bool find_target(FrameEvents& events, bool is_turn_over);
  void stage();
  bool is_in_message() const noexcept;
  bool read_body(FrameEvents& events);
  void take_ahead(std::span<std::byte> into) noexcept;

  UniqueFd socket_;
  bool is_within_host_ = false;
  bool has_ended_ = false;
  bool has_failed_ = false;

  /// The bytes from which on no frame joins those that are not written yet.
  static constexpr std::size_t kMostJoined = 4096;
  OneWayStream stream_;
  bool are_joined_ = false;      ///< True while TCP joins short frames.
  std::vector<std::byte> head_;  ///< Frames that were copied, and the header of `body_`.
  std::size_t head_begin_ = 0;   ///< The bytes before this one are written.
  std::span<const std::byte> body_{};
  std::size_t body_size_ = 0;
  Outgoing* owner_ = nullptr;
  std::uint64_t begun_bytes_ = 0;  ///< Of all frames so far.
  std::uint64_t message_bytes_ =
      0;  ///< Those up to the end of the last frame that a message needs.
  std::uint64_t written_bytes_ = 0;

  /// The bytes of the longest frame that is short: it may be copied once more.
  static constexpr std::size_t kShort = 4096;
  /// The most that is read ahead: many short frames, with one call of the kernel.
  static constexpr std::size_t kMostReadAhead = 32 << 10;
  std::unique_ptr<std::byte[]> ahead_;  ///< Read, but not yet understood.
  std::size_t ahead_begin_ = 0;
  std::size_t ahead_end_ = 0;
  bool does_peer_wait_ = false;  ///< True while its frames wait for acknowledgements.
  bool has_left_ = false;
  bool is_drained_ = false;  ///< Whether the last receive took all that there was.
  bool are_short_ = false;   ///< Whether the last chunk was short: the next ones may be, too.
  bool has_frame_ = false;
  bool has_target_ = false;
  Frame frame_{};         ///< A frame, or the part of a long chunk that is handed over alone.
  std::size_t rest_ = 0;  ///< The bytes of a long chunk behind frame_.
  std::span<std::byte> target_{};
  std::size_t filled_ = 0;
  std::unique_ptr<std::byte[]> staged_;  ///< A buffer for chunks that are handed over together.
};

}  // namespace fastgpu::comm
