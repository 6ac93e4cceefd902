#include "http/curl_failure.hpp"

#include <algorithm>
#include <array>
#include <system_error>

#include "base/names.hpp"
#include "base/units.hpp"

namespace fastgpu::http {
namespace {

/// Returns libcurl's text on a certificate, without its prefix.
std::string about_certificate(std::string_view detail) {
  for (const std::string_view prefix : {"SSL certificate problem: ", "SSL: "})
    if (detail.starts_with(prefix)) detail.remove_prefix(prefix.size());
  return detail.find("subject name") != std::string_view::npos ? "it is for another host"
                                                               : printable(detail);
}

/// Returns true if TLS failed because the two sides disagreed, and not because the connection was
/// closed.
bool is_verdict_of_tls(std::string_view detail) {
  constexpr std::array kLost = {"SYSCALL", "unexpected eof", "reset", "closed"};
  for (const std::string_view word : kLost)
    if (detail.find(word) != std::string_view::npos) return false;
  return detail.find("error:") != std::string_view::npos;
}

Error transient(const std::string& message) {
  return {ErrorKind::transient, message};
}

Error no_connection(const CurlFailure& failure, const std::string& who) {
  if (failure.system_error == 0) return transient(who + "no connection");
  const auto code = static_cast<int>(failure.system_error);
  return transient(who + "no connection (" + std::generic_category().message(code) + ")");
}

Error tls_error(const CurlFailure& failure, const std::string& who) {
  const std::string why = printable(failure.detail);
  if (!is_verdict_of_tls(failure.detail))
    return transient(who + "the connection was lost while TLS began");
  return {ErrorKind::remote, who + "it does not speak TLS 1.2 or newer (" + why + ")"};
}

}  // namespace

Error curl_error(const CurlFailure& failure, const Request& request, std::string_view host) {
  const std::string who = printable(host) + ": ";
  switch (failure.code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return transient(who + "no address is found for this name");
    case CURLE_COULDNT_RESOLVE_PROXY:
      return transient(who + "no address is found for the proxy's name");
    case CURLE_COULDNT_CONNECT:
      return no_connection(failure, who);
    case CURLE_OPERATION_TIMEDOUT:
      if (!failure.reached)
        return transient(who + "no connection within " +
                         to_string(std::min(request.limit, request.connect_limit)));
      if (failure.detail.starts_with("Operation too slow"))
        return {ErrorKind::timeout, who + "timed out: no data for " + to_string(request.silence)};
      return transient(who + "no complete answer within " + to_string(request.limit));
    case CURLE_PEER_FAILED_VERIFICATION:
      return {ErrorKind::remote, who + "its certificate cannot be trusted (" +
                                     about_certificate(failure.detail) +
                                     "); nothing was sent to it"};
    case CURLE_SSL_CONNECT_ERROR:
      return tls_error(failure, who);
    case CURLE_PROXY:
      return transient(who + "the proxy's answer is malformed");
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      if (!failure.reached)
        return {ErrorKind::usage, who +
                                      "the URL or its proxy is not one that can be used; look "
                                      "at http_proxy and https_proxy"};
      return transient(who + "the answer is not HTTP");
    case CURLE_PARTIAL_FILE:
      return transient(who + "the connection was lost in the middle of the answer");
    case CURLE_OUT_OF_MEMORY:
      return {ErrorKind::local, who + "no memory for the exchange"};
    case CURLE_ABORTED_BY_CALLBACK:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return transient(who + "the connection was lost before the answer was complete");
    default:
      return transient(who + curl_easy_strerror(failure.code));
  }
}

}  // namespace fastgpu::http
