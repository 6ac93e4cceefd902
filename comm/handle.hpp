// Something that was begun, and is to be waited for.
#pragma once

#include <memory>

#include "comm/engine/engine.hpp"

namespace fastgpu::comm {

/// Its buffers stay where they are until it is done. Destroying a handle waits.
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

  /// Whether `wait` would return at once. Never blocks.
  bool test() { return engine_->test(*operation_); }

  /// Throws what the operation failed with.
  void wait() { engine_->wait(*operation_); }

 private:
  std::shared_ptr<Engine> engine_;  ///< Shared by all communicators of the job and their handles.
  std::shared_ptr<Operation> operation_;  ///< Shared with the engine that runs it.
};

}  // namespace fastgpu::comm
