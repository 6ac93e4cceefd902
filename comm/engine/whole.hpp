// A collective that somebody else runs as a whole, where ours would be run by a program.
#pragma once

namespace fastgpu::comm {

/// Used by one thread at a time.
class WholeCollective {
 public:
  virtual ~WholeCollective() = default;

  virtual void start() = 0;

  /// Moves what can be moved without waiting; true once it is done, and is not asked again.
  virtual bool test() = 0;
};

}  // namespace fastgpu::comm
