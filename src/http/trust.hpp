// The authorities that TLS trusts. They are read once per process, because reading them takes far
// longer than a handshake.
#pragma once

#include <curl/curl.h>
#include <openssl/x509.h>

#include <filesystem>
#include <string_view>

#include "base/c_handle.hpp"

namespace fastgpu::http {

/// Certificates as PEM.
struct TrustedText {
  std::string_view pem;
};

class Trust {
 public:
  /// Loads the authorities in a file, or those that libcurl trusts by default if `file` is empty.
  /// Throws ErrorKind::local if the file cannot be read.
  explicit Trust(const std::filesystem::path& file);
  /// Trusts the certificates in the text alone. Throws ErrorKind::usage if it has none.
  explicit Trust(TrustedText text);

  /// Makes a transfer trust these authorities, which must outlive it.
  void set(CURL* transfer) const;

 private:
  CHandle<X509_STORE, X509_STORE_free> store_;
};

}  // namespace fastgpu::http
