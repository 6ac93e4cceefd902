// A collective that another library runs, in place of a program of this one.
#pragma once

#include <string_view>

namespace fastgpu::comm {

/// A collective for one thread at a time.
class OffloadedCollective {
 public:
  virtual ~OffloadedCollective() = default;

  /// Returns the name of the library, for messages.
  virtual std::string_view library() const noexcept = 0;

  virtual void start() = 0;

  /// Moves data as far as possible without waiting; returns true once it is done, and is not called
  /// again.
  virtual bool test() = 0;
};

}  // namespace fastgpu::comm
