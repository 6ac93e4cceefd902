// The next descriptor of a mailbox, for a test that plays its receiver.
#pragma once

#include <optional>

#include "comm/transports/mailbox.hpp"

namespace fastgpu::test {

inline std::optional<comm::Descriptor> taken_from(comm::Mailbox& mailbox) {
  comm::Descriptor descriptor;
  if (!mailbox.take(descriptor)) return std::nullopt;
  return descriptor;
}

}  // namespace fastgpu::test
