// The authorities that TLS trusts, read once in a process: to read all of them takes far longer
// than a handshake.
#pragma once

#include <curl/curl.h>
#include <openssl/x509.h>

#include <filesystem>

#include "base/c_handle.hpp"

namespace fastgpu::http {

class Trust {
 public:
  /// Loads the authorities in a file; empty: those that libcurl was built to trust. Throws
  /// ErrorKind::local if the file cannot be read.
  explicit Trust(const std::filesystem::path& file);

  /// Makes a transfer trust these; they must outlive it.
  void set(CURL* transfer) const;

 private:
  CHandle<X509_STORE, X509_STORE_free> store_;
};

}  // namespace fastgpu::http
