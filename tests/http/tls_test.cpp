// Whom the client trusts: certificates made on the spot, on servers on loopback.
#include <doctest/doctest.h>

#include "http/curl_client.hpp"
#include "support/certificates.hpp"
#include "support/failure.hpp"
#include "support/http_server.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::http {
namespace {

using test::AfterAnswer;
using test::Certificate;
using test::failure_of;
using test::HttpServer;
using test::HttpVisit;
using test::mentions;

AfterAnswer hello(HttpVisit& visit) {
  visit.answer("hello");
  return AfterAnswer::keep;
}

/// A client that trusts one certificate.
struct Trusting {
  test::TempDirectory directory;
  Cancel cancel;

  std::string get(const HttpServer& server, const Certificate& trusted) {
    trusted.write(directory.path() / "trusted.pem");
    CurlClient client(CurlSettings{.ca_file = directory.path() / "trusted.pem"});
    client.send({.url = server.url()}, cancel);
    return client.send({.url = server.url()}, cancel).body;
  }

  Error refusal(const Certificate& of_server, const Certificate& trusted) {
    const test::TlsContext tls = of_server.server();
    const HttpServer server(hello, tls.get());
    return failure_of([&] { get(server, trusted); });
  }
};

TEST_SUITE_BEGIN("http/tls");

TEST_CASE_FIXTURE(Trusting,
                  "a server with a trusted certificate is spoken to, over one connection") {
  const Certificate good({});
  const test::TlsContext tls = good.server();
  const HttpServer server(hello, tls.get());
  CHECK(get(server, good) == "hello");
  CHECK(server.connections() == 1);
}

TEST_CASE_FIXTURE(Trusting, "a certificate that nobody vouches for is refused for good") {
  const Error e = refusal(Certificate({}), Certificate({}));
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(mentions(e, "127.0.0.1:"));
  CHECK(mentions(e, "its certificate cannot be trusted"));
}

TEST_CASE_FIXTURE(Trusting, "a certificate that is over, or has not begun, is refused for good") {
  for (const test::CertificateTerms& terms :
       {test::CertificateTerms{.begins_in = -7200, .ends_in = -3600},
        test::CertificateTerms{.begins_in = 3600, .ends_in = 7200}}) {
    const Certificate off(terms);
    const Error e = refusal(off, off);
    CHECK(e.kind() == ErrorKind::remote);
    CHECK(mentions(e, terms.ends_in < 0 ? "expired" : "not yet valid"));
  }
}

TEST_CASE_FIXTURE(Trusting, "a certificate for another host is refused for good") {
  const Certificate other({.names = "DNS:other.example,IP:127.0.0.2"});
  const Error e = refusal(other, other);
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(mentions(e, "it is for another host"));
}

TEST_CASE_FIXTURE(Trusting, "a server that speaks TLS 1.1 at most is refused for good") {
  const Certificate good({});
  const test::TlsContext tls = good.server();
  SSL_CTX_set_security_level(tls.get(), 0);
  SSL_CTX_set_min_proto_version(tls.get(), TLS1_VERSION);
  SSL_CTX_set_max_proto_version(tls.get(), TLS1_1_VERSION);
  const HttpServer server(hello, tls.get());
  const Error e = failure_of([&] { get(server, good); });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(mentions(e, "TLS 1.2"));
}

TEST_CASE_FIXTURE(Trusting, "a server that closes while TLS begins is worth another try") {
  const Certificate good({});
  const test::TlsContext tls = good.server();
  SSL_CTX_set_client_hello_cb(
      tls.get(),
      [](SSL* session, int*, void*) {
        ::shutdown(SSL_get_fd(session), SHUT_RDWR);
        return SSL_CLIENT_HELLO_ERROR;
      },
      nullptr);
  const HttpServer server(hello, tls.get());
  CHECK(failure_of([&] { get(server, good); }).kind() == ErrorKind::transient);
}

TEST_CASE_FIXTURE(Trusting, "the authorities are read once, however many servers are spoken to") {
  const Certificate good({});
  const test::TlsContext tls = good.server();
  const HttpServer first(hello, tls.get());
  const HttpServer second(hello, tls.get());
  good.write(directory.path() / "trusted.pem");
  CurlClient client(CurlSettings{.ca_file = directory.path() / "trusted.pem"});
  CHECK(client.send({.url = first.url()}, cancel).body == "hello");
  std::filesystem::remove(directory.path() / "trusted.pem");
  CHECK(client.send({.url = second.url()}, cancel).body == "hello");
}

TEST_CASE("a file of certificates that is not there is said by its cause") {
  const Certificate good({});
  const test::TlsContext tls = good.server();
  const HttpServer server(hello, tls.get());
  const Cancel cancel;
  CurlClient client(CurlSettings{.ca_file = "/nonexistent/ca.pem"});
  const Error e = failure_of([&] { client.send({.url = server.url()}, cancel); });
  CHECK(e.kind() == ErrorKind::local);
  CHECK(mentions(e, "/nonexistent/ca.pem"));
  CHECK(mentions(e, "SSL_CERT_FILE"));
}

TEST_CASE("authorities may be given as a text, and are the only ones then") {
  const Certificate good({}), other({});
  const test::TlsContext tls = good.server();
  const HttpServer server(hello, tls.get());
  const Cancel cancel;
  CurlClient client(CurlSettings{.ca_text = other.pem() + good.pem()});
  CHECK(client.send({.url = server.url()}, cancel).body == "hello");
  CurlClient wrong(CurlSettings{.ca_text = other.pem()});
  CHECK(failure_of([&] { wrong.send({.url = server.url()}, cancel); }).kind() == ErrorKind::remote);
  CurlClient none(CurlSettings{.ca_text = "no certificate"});
  CHECK(failure_of([&] { none.send({.url = server.url()}, cancel); }).kind() == ErrorKind::usage);
}

TEST_CASE("a certificate of ours is shown to a server that asks for it") {
  const Certificate good({}), own({});
  const test::TlsContext tls = good.server();
  own.require_of_clients(tls.get());
  const HttpServer server(hello, tls.get());
  const Cancel cancel;
  CurlClient known(CurlSettings{.ca_text = good.pem(),
                                .identity = ClientCertificate{own.pem(), Secret(own.key_pem())}});
  CHECK(known.send({.url = server.url()}, cancel).body == "hello");
  CurlClient unknown(CurlSettings{.ca_text = good.pem()});
  failure_of([&] { unknown.send({.url = server.url()}, cancel); });
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::http
