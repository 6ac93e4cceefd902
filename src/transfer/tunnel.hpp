// Carries many streams of bytes over one pair of descriptors. Each stream has a limit on the bytes
// in transit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/cancel.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::transfer {

/// One end of a tunnel. The end with a listener opens a stream for each connection that it accepts;
/// the other end decides where each stream leads. Input from the other end is checked: malformed
/// frames end the tunnel, and a stream buffers at most kTunnelWindow bytes here.
class Tunnel {
 public:
  /// Returns our end of a stream that the other end has opened. Without a descriptor the stream is
  /// refused.
  using OnOpen = std::function<UniqueFd()>;

  /// Borrows `in` and `out` and makes them non-blocking. `listener` accepts connections; -1 if the
  /// other end opens the streams.
  Tunnel(int in, int out, int listener, OnOpen on_open = {});

  /// Moves bytes until `in` ends or a stop is requested. Throws ErrorKind::remote for malformed
  /// frames, and local if `out` fails.
  void serve(const Cancel& cancel);

 private:
  struct Stream {
    UniqueFd fd;
    std::string waiting{};   // The bytes to write to fd.
    std::size_t credit = 0;  // The bytes that may still be sent to the other end.
    std::size_t taken = 0;   // The bytes written to fd that are not reported to the other end yet.
    bool is_read_out = false;      // fd has ended, and the other end was informed.
    bool is_other_done = false;    // The other end has ended the stream.
    bool is_write_closed = false;  // This end was passed on to fd.
  };
  using Streams = std::map<std::uint32_t, Stream>;

  void wait(const Cancel& cancel);
  void accept_one();
  void read_frames();
  void take(char kind, std::uint32_t id, std::string_view payload);
  void open(std::uint32_t id);
  void take_data(Stream& stream, std::uint32_t id, std::string_view payload);
  void take_credit(Stream& stream, std::string_view payload);
  bool step(std::uint32_t id, Stream& stream, short events);
  bool write_waiting(std::uint32_t id, Stream& stream);
  bool read_some(std::uint32_t id, Stream& stream);
  void put(char kind, std::uint32_t id, std::string_view payload = {});
  void write_out();
  bool has_room() const noexcept;

  int in_;
  int out_;
  int listener_;
  OnOpen on_open_;
  Streams streams_;
  std::uint32_t last_ = 0;  // The id of the newest stream.
  std::string input_;
  std::string output_;
  bool ended_ = false;
};

/// The maximum number of bytes of one stream in transit in one direction.
inline constexpr std::size_t kTunnelWindow = std::size_t{1} << 20;
/// The maximum number of concurrent streams. Further streams are refused.
inline constexpr std::size_t kMostStreams = 128;

}  // namespace fastgpu::transfer
