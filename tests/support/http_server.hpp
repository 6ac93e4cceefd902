// An HTTP server on loopback whose answers, good or bad, the test determines byte by byte.
#pragma once

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/c_handle.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::test {

/// One request and its connection.
class HttpVisit {
 public:
  HttpVisit(int socket, SSL* tls) : socket_(socket), tls_(tls) {}

  std::string head;  ///< The head, up to the empty line.
  std::string body;

  /// Reads the next request. Returns false if the client has closed the connection.
  bool next() {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos)
      if (!read_some()) return false;
    head = buffer_.substr(0, end + 2);
    const std::size_t length = head.find("Content-Length: ");
    const std::size_t wanted =
        length == std::string::npos ? 0 : std::stoul(head.substr(length + 16));
    while (buffer_.size() < end + 4 + wanted)
      if (!read_some()) return false;
    body = buffer_.substr(end + 4, wanted);
    buffer_.erase(0, end + 4 + wanted);
    return true;
  }

  /// Writes to the client. Returns false if it has closed the connection.
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto count = static_cast<int>(bytes.size());
      const ssize_t written = tls_ != nullptr
                                  ? SSL_write(tls_, bytes.data(), count)
                                  : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (written <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }

  bool answer(std::string_view text, const std::string& status = "200 OK",
              const std::string& headers = {}) {
    return write("HTTP/1.1 " + status + "\r\n" + headers +
                 "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + std::string(text));
  }

  void wait_until_client_leaves() {
    while (read_some())
      continue;
  }

  /// Makes the connection end with a reset, and not in an orderly way.
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }

 private:
  bool read_some() {
    char bytes[65536];
    const ssize_t got = tls_ != nullptr ? SSL_read(tls_, bytes, sizeof bytes)
                                        : ::recv(socket_, bytes, sizeof bytes, 0);
    if (got <= 0) return false;
    buffer_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }

  int socket_;
  SSL* tls_;
  std::string buffer_;
};

enum class AfterAnswer : std::uint8_t { keep, close };

class HttpServer {
 public:
  using Handler = std::function<AfterAnswer(HttpVisit&)>;

  /// Each connection has a thread that calls `handler` for each request. `tls` makes the
  /// connections use TLS with its certificate and key.
  explicit HttpServer(Handler handler, SSL_CTX* tls = nullptr)
      : handler_(std::move(handler)), tls_(tls), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listener_.get(), generic, size) == 0);
    REQUIRE(::listen(listener_.get(), 64) == 0);
    REQUIRE(::getsockname(listener_.get(), generic, &size) == 0);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::jthread([this] { accept_all(); });
  }

  ~HttpServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    {
      const std::scoped_lock lock(mutex_);
      for (const Connection& connection : connections_)
        ::shutdown(connection.socket.get(), SHUT_RDWR);
    }
    for (Connection& connection : connections_)
      connection.thread.join();
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string authority() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url(const std::string& rest = "/") const {
    return (tls_ != nullptr ? "https://" : "http://") + authority() + rest;
  }
  std::size_t connections() const {
    const std::scoped_lock lock(mutex_);
    return connections_.size();
  }

 private:
  struct Connection {
    UniqueFd socket;
    std::jthread thread{};
  };

  void accept_all() {
    sigset_t
        pipe;  // TLS writes without MSG_NOSIGNAL. The threads of the connections inherit the mask.
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    for (;;) {
      UniqueFd socket(::accept(listener_.get(), nullptr, nullptr));
      if (!socket) return;
      const std::scoped_lock lock(mutex_);
      Connection& connection = connections_.emplace_back(Connection{std::move(socket)});
      connection.thread = std::jthread([this, &connection] { serve(connection); });
    }
  }

  void serve(Connection& connection) {
    CHandle<SSL, SSL_free> tls(tls_ != nullptr ? SSL_new(tls_) : nullptr);
    if (tls) SSL_set_fd(tls.get(), connection.socket.get());
    HttpVisit visit(connection.socket.get(), tls.get());
    if (!tls || SSL_accept(tls.get()) == 1)
      while (visit.next())
        if (handler_(visit) == AfterAnswer::close) break;
    tls.reset();
    const std::scoped_lock lock(mutex_);
    connection.socket = UniqueFd();
  }

  Handler handler_;
  SSL_CTX* tls_;
  UniqueFd listener_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::list<Connection> connections_;
  std::jthread acceptor_;
};

}  // namespace fastgpu::test
