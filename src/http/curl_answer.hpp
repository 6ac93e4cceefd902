// The answer of one exchange: libcurl's callbacks and the data that they collect.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string_view>

#include "http/client.hpp"

namespace fastgpu::http {

/// Whether libcurl may send a request again if a kept connection turns out to be dead.
enum class Resending : std::uint8_t { allowed, refused };

struct CurlAnswer {
  std::size_t largest = 0;
  Resending resending = Resending::refused;
  /// Request::on_data; null if the body is kept.
  const std::function<void(std::string_view)>* on_data = nullptr;
  CURL* transfer = nullptr;

  Response response{};
  std::size_t header_bytes = 0;
  int times_sent = 0;
  bool is_too_long = false;
  std::exception_ptr failure{};  ///< The exception that a callback has thrown.
};

/// Sets the callbacks of `transfer`, which fill `answer`. `answer` must outlive the transfer.
void gather(CURL* transfer, CurlAnswer& answer);

}  // namespace fastgpu::http
