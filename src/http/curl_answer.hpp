// The answer of one exchange: libcurl's callbacks and the data that they have gathered.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <exception>

#include "http/client.hpp"

namespace fastgpu::http {

/// Permission for libcurl to send a request once more if a kept connection turns out to be dead.
enum class Resending : std::uint8_t { allowed, refused };

struct CurlAnswer {
  std::size_t largest = 0;
  Resending resending = Resending::refused;

  Response response{};
  std::size_t header_bytes = 0;
  int times_sent = 0;
  bool is_too_long = false;
  std::exception_ptr failure{};  ///< The exception of a callback.
};

/// Makes `transfer` report to `answer`, which must outlive it.
void gather(CURL* transfer, CurlAnswer& answer);

}  // namespace fastgpu::http
