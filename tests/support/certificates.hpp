// Self-signed certificates for tests.
#pragma once

#include <doctest/doctest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <filesystem>
#include <string>

#include "base/c_handle.hpp"

namespace fastgpu::test {

using TlsContext = CHandle<SSL_CTX, SSL_CTX_free>;

struct CertificateTerms {
  std::string names = "IP:127.0.0.1";  ///< The subjectAltName in OpenSSL's form.
  long begins_in = -86'400;            ///< Seconds from now.
  long ends_in = 86'400;
};

class Certificate {
 public:
  explicit Certificate(const CertificateTerms& terms)
      : key_(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")), certificate_(X509_new()) {
    X509* made = certificate_.get();
    X509_set_version(made, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
    X509_gmtime_adj(X509_getm_notBefore(made), terms.begins_in);
    X509_gmtime_adj(X509_getm_notAfter(made), terms.ends_in);
    X509_set_pubkey(made, key_.get());
    X509_NAME* name = X509_get_subject_name(made);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(made, name);
    extend(NID_subject_alt_name, terms.names);
    extend(NID_basic_constraints, "critical,CA:TRUE");
    REQUIRE(X509_sign(made, key_.get(), EVP_sha256()) != 0);
  }

  TlsContext server() const {
    TlsContext context(SSL_CTX_new(TLS_server_method()));
    REQUIRE(SSL_CTX_use_certificate(context.get(), certificate_.get()) == 1);
    REQUIRE(SSL_CTX_use_PrivateKey(context.get(), key_.get()) == 1);
    return context;
  }

  /// Returns the certificate as PEM.
  std::string pem() const {
    const CHandle<BIO, BIO_free_all> out(BIO_new(BIO_s_mem()));
    REQUIRE(PEM_write_bio_X509(out.get(), certificate_.get()) == 1);
    return text_of(out.get());
  }
  /// Returns its key as PEM.
  std::string key_pem() const {
    const CHandle<BIO, BIO_free_all> out(BIO_new(BIO_s_mem()));
    REQUIRE(PEM_write_bio_PrivateKey(out.get(), key_.get(), nullptr, nullptr, 0, nullptr,
                                     nullptr) == 1);
    return text_of(out.get());
  }

  /// Makes a server accept only clients that show this certificate.
  void require_of_clients(SSL_CTX* server) const {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(server), certificate_.get());
    SSL_CTX_set_verify(server, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }

  void write(const std::filesystem::path& file) const {
    const CHandle<BIO, BIO_free_all> out(BIO_new_file(file.c_str(), "w"));
    REQUIRE(PEM_write_bio_X509(out.get(), certificate_.get()) == 1);
  }

 private:
  static std::string text_of(BIO* memory) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(memory, &data);
    return {data, static_cast<std::size_t>(size)};
  }

  void extend(int id, const std::string& value) {
    const CHandle<X509_EXTENSION, X509_EXTENSION_free> extension(
        X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str()));
    REQUIRE(extension);
    X509_add_ext(certificate_.get(), extension.get(), -1);
  }

  CHandle<EVP_PKEY, EVP_PKEY_free> key_;
  CHandle<X509, X509_free> certificate_;
};

}  // namespace fastgpu::test
