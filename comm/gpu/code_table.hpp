// The runs of a codec in device memory, prepared once for kernels that go through all of them.
#pragma once

#include <span>

#include "comm/codecs/codec_table.hpp"
#include "comm/gpu/code_map.hpp"
#include "comm/gpu/largest_phases.hpp"
#include "comm/gpu/memory.hpp"
#include "comm/gpu/tensor_list.hpp"

namespace fastgpu::comm::gpu {

/// A table of runs. Kernels of one stream at a time use it.
class CodeTable {
 public:
  /// Blocks until the device has the table. Throws ErrorKind::usage for a codec that is linear.
  CodeTable(const CodecChoice& codec, std::span<const CodeStretch> runs);

  CodecId codec() const noexcept { return codec_; }
  const CodeMap& map() const noexcept { return map_; }               ///< A map in device memory.
  const LargestState& largest() const noexcept { return largest_; }  ///< Used by topk alone.

 private:
  CodecId codec_;
  TensorList tiles_;
  DeviceBuffer runs_;
  DeviceBuffer selection_;
  CodeMap map_;
  LargestState largest_;
};

}  // namespace fastgpu::comm::gpu
