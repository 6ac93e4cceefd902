// Output to the user: to a descriptor, or to a string in tests.
#pragma once

#include <string>
#include <string_view>

#include "base/cancel.hpp"
#include "base/error.hpp"

namespace fastgpu::cli {

/// Thrown when the reader of our output is gone (EPIPE). This is not a failure: the program ends
/// without a message.
class OutputClosed : public Error {
 public:
  OutputClosed() : Error(ErrorKind::local, "the output was closed by its reader") {}
};

/// Thrown when our own output cannot be stored: "standard output: No space left on device". The
/// kind is capacity for a full disk, else local.
class OutputFailed : public Error {
 public:
  explicit OutputFailed(const Error& error) : Error(error) {}
};

class Sink {
 public:
  virtual ~Sink() = default;
  /// Writes all of `bytes`. Throws OutputClosed, or OutputFailed if they cannot be stored.
  virtual void write(std::string_view bytes) = 0;
};

/// Writes to a descriptor that the caller owns. If the reader is slow, a write ends with
/// ErrorKind::interrupted when `cancel` is requested, unless it was requested before the write.
class FdSink : public Sink {
 public:
  FdSink(int fd, const Cancel& cancel);
  void write(std::string_view bytes) override;

 private:
  void wait_for_room();

  int fd_;
  const Cancel& cancel_;
  bool may_block_;
};

class StringSink : public Sink {
 public:
  void write(std::string_view bytes) override { text += bytes; }
  std::string text;
};

}  // namespace fastgpu::cli
