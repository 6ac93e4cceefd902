#include "http/http_libraries.hpp"

#include <curl/curl.h>

namespace fastgpu::http {

std::map<std::string, std::string> library_versions() {
  return {{"libcurl", ::curl_version_info(CURLVERSION_NOW)->version}};
}

}  // namespace fastgpu::http
