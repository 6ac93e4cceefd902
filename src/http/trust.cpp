#include "http/trust.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <new>
#include <string>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::http {
namespace {

struct Places {
  std::string file;
  /// A directory of files that are named by their hashes. Each file is read only when it is needed.
  std::string folder;
};

Places libcurls_places() {
  const CHandle<CURL, curl_easy_cleanup> fresh(curl_easy_init());
  if (!fresh) throw std::bad_alloc();
  const char* file = nullptr;
  const char* folder = nullptr;
  curl_easy_getinfo(fresh.get(), CURLINFO_CAINFO, &file);
  curl_easy_getinfo(fresh.get(), CURLINFO_CAPATH, &folder);
  return {file != nullptr ? file : "", folder != nullptr ? folder : ""};
}

/// Throws unless libcurl uses OpenSSL, because its connections are configured through OpenSSL's
/// contexts.
void require_openssl() {
  const char* tls = curl_version_info(CURLVERSION_NOW)->ssl_version;
  const std::string name = tls != nullptr ? tls : "nothing";
  if (!name.starts_with("OpenSSL"))
    throw Error(ErrorKind::local, "libcurl uses " + name +
                                      " for TLS here: fastgpu needs one with OpenSSL "
                                      "(Debian's libcurl4, not libcurl3-gnutls)");
}

CURLcode use_store(CURL* /*transfer*/, void* context, void* store) {
  SSL_CTX_set1_cert_store(static_cast<SSL_CTX*>(context), static_cast<X509_STORE*>(store));
  return CURLE_OK;
}

}  // namespace

Trust::Trust(const std::filesystem::path& file) : store_(X509_STORE_new()) {
  if (!store_) throw std::bad_alloc();
  require_openssl();
  X509_STORE_set_flags(store_.get(), X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
  const Places places = file.empty() ? libcurls_places() : Places{file.string(), {}};
  if (!places.folder.empty()) X509_STORE_load_path(store_.get(), places.folder.c_str());
  if (!places.file.empty() && X509_STORE_load_file(store_.get(), places.file.c_str()) != 1)
    throw Error(ErrorKind::local, printable(places.file) +
                                      ": these trusted certificates cannot be read: set "
                                      "SSL_CERT_FILE to a file that can");
}

Trust::Trust(TrustedText text) : store_(X509_STORE_new()) {
  using Source = CHandle<BIO, BIO_free_all>;
  using Certificate = CHandle<X509, X509_free>;
  if (!store_) throw std::bad_alloc();
  require_openssl();
  X509_STORE_set_flags(store_.get(), X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
  const Source source(BIO_new_mem_buf(text.pem.data(), static_cast<int>(text.pem.size())));
  if (!source) throw std::bad_alloc();
  int count = 0;
  while (const Certificate one{PEM_read_bio_X509(source.get(), nullptr, nullptr, nullptr)})
    count += X509_STORE_add_cert(store_.get(), one.get());
  ERR_clear_error();  // The end of the text is an error to OpenSSL.
  if (count == 0) throw Error(ErrorKind::usage, "the trusted certificates are not PEM");
}

void Trust::set(CURL* transfer) const {
  curl_easy_setopt(transfer, CURLOPT_CAINFO, nullptr);
  curl_easy_setopt(transfer, CURLOPT_CAPATH, nullptr);
  curl_easy_setopt(transfer, CURLOPT_SSL_CTX_FUNCTION, use_store);
  curl_easy_setopt(transfer, CURLOPT_SSL_CTX_DATA, store_.get());
}

}  // namespace fastgpu::http
