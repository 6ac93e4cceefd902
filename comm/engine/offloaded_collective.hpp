// A collective that another library runs as a whole, instead of a program of ours.
#pragma once

namespace fastgpu::comm {

/// A collective for one thread at a time.
class WholeCollective {
 public:
  virtual ~WholeCollective() = default;

  virtual void start() = 0;

  /// Moves data as far as possible without waiting; returns true once it is done, and is not called
  /// again.
  virtual bool test() = 0;
};

}  // namespace fastgpu::comm
