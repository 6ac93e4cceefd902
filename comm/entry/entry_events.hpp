// What the entry layer tells whoever wants to know.
#pragma once

#include <string>

namespace fastgpu::comm {

/// Called by whoever calls the entry layer, in the middle of that call: may not call back.
class EntryEvents {
 public:
  virtual ~EntryEvents() = default;

  /// One sentence: a rank that keeps others waiting, or a number that is none.
  virtual void warned(const std::string& sentence) = 0;
};

}  // namespace fastgpu::comm
