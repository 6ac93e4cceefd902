#include "comm/common/membarrier.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fastgpu::comm {
namespace {

bool membarrier(int command) noexcept {
  return ::syscall(SYS_membarrier, command, 0, 0) == 0;
}

}  // namespace

bool register_for_barriers(BarrierReach reach) noexcept {
  return membarrier(reach == BarrierReach::process ? MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED
                                                   : MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
}

bool make_barrier(BarrierReach reach) noexcept {
  return membarrier(reach == BarrierReach::process ? MEMBARRIER_CMD_PRIVATE_EXPEDITED
                                                   : MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

}  // namespace fastgpu::comm
