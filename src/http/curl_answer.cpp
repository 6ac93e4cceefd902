#include "http/curl_answer.hpp"

#include <string_view>

#include "base/split.hpp"
#include "http/urls.hpp"

namespace fastgpu::http {
namespace {

/// The limit on the bytes of headers. No API sends a tenth of it. libcurl's own limit is 300 KiB,
/// but its message is less clear.
constexpr std::size_t kMostHeaderBytes = 256U << 10U;

void add_header(std::vector<Header>& headers, std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r'))
    line.remove_suffix(1);
  if (line.starts_with("HTTP/")) return headers.clear();  // The headers before it were provisional.
  if ((line.starts_with(' ') || line.starts_with('\t')) && !headers.empty()) {
    headers.back().value.append(" ").append(trimmed(line));
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  headers.push_back(
      {std::string(line.substr(0, colon)), std::string(trimmed(line.substr(colon + 1)))});
}

/// Returns true if the body is passed on in pieces and not kept.
bool has_taker(const CurlAnswer& answer) {
  if (answer.on_data == nullptr || !*answer.on_data) return false;
  long status = 0;
  curl_easy_getinfo(answer.transfer, CURLINFO_RESPONSE_CODE, &status);
  return status / 100 == 2;
}

extern "C" std::size_t fastgpu_http_take_header(char* data, std::size_t, std::size_t count,
                                                void* self) noexcept {
  auto& answer = *static_cast<CurlAnswer*>(self);
  try {
    answer.header_bytes += count;
    answer.is_too_long = answer.header_bytes > kMostHeaderBytes;
    if (answer.is_too_long) return 0;  // This ends the transfer.
    add_header(answer.response.headers, {data, count});
    return count;
  } catch (...) {
    answer.failure = std::current_exception();
    return 0;
  }
}

extern "C" std::size_t fastgpu_http_take_body(char* data, std::size_t, std::size_t count,
                                              void* self) noexcept {
  auto& answer = *static_cast<CurlAnswer*>(self);
  try {
    if (has_taker(answer)) {
      (*answer.on_data)({data, count});
      return count;
    }
    answer.is_too_long = count > answer.largest - answer.response.body.size();
    if (answer.is_too_long) return 0;
    answer.response.body.append(data, count);
    return count;
  } catch (...) {
    answer.failure = std::current_exception();
    return 0;
  }
}

/// Called each time a connection is ready for the request. A second call means that the first
/// connection was lost before an answer. Then it is unknown whether the request took effect.
extern "C" int fastgpu_http_before_sending(void* self, char*, char*, int, int) noexcept {
  auto& answer = *static_cast<CurlAnswer*>(self);
  ++answer.times_sent;
  const bool may_send = answer.times_sent == 1 || answer.resending == Resending::allowed;
  return may_send ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

}  // namespace

void gather(CURL* transfer, CurlAnswer& answer) {
  answer.transfer = transfer;
  curl_easy_setopt(transfer, CURLOPT_HEADERFUNCTION, fastgpu_http_take_header);
  curl_easy_setopt(transfer, CURLOPT_HEADERDATA, &answer);
  curl_easy_setopt(transfer, CURLOPT_WRITEFUNCTION, fastgpu_http_take_body);
  curl_easy_setopt(transfer, CURLOPT_WRITEDATA, &answer);
  curl_easy_setopt(transfer, CURLOPT_PREREQFUNCTION, fastgpu_http_before_sending);
  curl_easy_setopt(transfer, CURLOPT_PREREQDATA, &answer);
}

}  // namespace fastgpu::http
