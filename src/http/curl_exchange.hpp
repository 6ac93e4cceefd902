// Single exchanges by libcurl, over connections that are kept between them.
#pragma once

#include <curl/curl.h>

#include "base/c_handle.hpp"
#include "http/client.hpp"
#include "http/proxy.hpp"
#include "http/trust.hpp"
#include "http/urls.hpp"

namespace fastgpu::http {

using CurlEasy = CHandle<CURL, curl_easy_cleanup>;
using CurlMulti = CHandle<CURLM, curl_multi_cleanup>;
using CurlList = CHandle<curl_slist, curl_slist_free_all>;

/// Data for an exchange in addition to the request.
struct Route {
  Url url;
  Proxy proxy;
  const Trust* trust;                           ///< Needed only for https.
  const ClientCertificate* identity = nullptr;  ///< Null for none.
};

/// A handle with its connections. Not thread-safe. Unusable after an exchange that threw.
class CurlLine {
 public:
  CurlLine();
  ~CurlLine();
  CurlLine(const CurlLine&) = delete;
  CurlLine& operator=(const CurlLine&) = delete;

  /// Performs an exchange as Client::send() does.
  Response exchange(const Request& request, const Route& route, const Cancel& cancel);

 private:
  void prepare(const Request& request, const Route& route);
  CURLcode run(const Cancel& cancel);

  CurlMulti connections_;
  CurlEasy transfer_;
};

}  // namespace fastgpu::http
