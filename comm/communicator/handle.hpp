// An operation that was begun, and must be waited for.
#pragma once

#include <memory>

#include "comm/engine/engine.hpp"

namespace fastgpu::comm {

/// A begun operation. Its buffers stay at their place until it is done. Destroying a handle waits.
class Handle {
 public:
  Handle(std::shared_ptr<Engine> engine, std::shared_ptr<Operation> operation)
      : engine_(std::move(engine)), operation_(std::move(operation)) {}
  Handle(Handle&&) noexcept = default;
  Handle& operator=(Handle&& other) noexcept {
    std::swap(engine_, other.engine_);
    std::swap(operation_, other.operation_);
    return *this;
  }
  ~Handle();

  /// Returns true if `wait` would return at once. Never blocks.
  bool test() { return engine_->test(*operation_); }

  /// Waits. Throws the operation's failure.
  void wait() { engine_->wait(*operation_); }

 private:
  std::shared_ptr<Engine> engine_;  ///< Shared by all communicators of the job and their handles.
  std::shared_ptr<Operation> operation_;  ///< Shared with the engine that runs it.
};

}  // namespace fastgpu::comm
