#include "comm/communicator/handle.hpp"

#include "base/error.hpp"

namespace fastgpu::comm {

Handle::~Handle() {
  if (!operation_) return;
  try {
    wait();
  } catch (const Error&) {
    return;  // A caller that needs the error has waited; later calls fail too.
  }
}

}  // namespace fastgpu::comm
