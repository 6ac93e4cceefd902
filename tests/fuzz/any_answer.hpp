// A server that answers whatever the fuzzer says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "http/client.hpp"

namespace fastgpu::fuzz {

/// The first byte picks a status, the others are the body.
inline http::Response any_answer(const std::uint8_t* data, std::size_t size,
                                 std::initializer_list<int> statuses) {
  if (size == 0) return {.status = *statuses.begin(), .headers = {}, .body = {}};
  return {.status = statuses.begin()[data[0] % statuses.size()],
          .headers = {},
          .body = {reinterpret_cast<const char*>(data) + 1, size - 1}};
}

}  // namespace fastgpu::fuzz
