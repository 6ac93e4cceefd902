// A tunnel from a node to hosts that this machine connects to: an HTTP proxy on the node's loopback
// address, served here.
#pragma once

#include <atomic>
#include <exception>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/cancel.hpp"
#include "base/unique_fd.hpp"
#include "envs/environments/nodes.hpp"
#include "http/connect.hpp"

namespace fastgpu::envs {

/// The places that a tunnel connects to: "host:port", and the addresses allowed for each.
using TunnelPlaces = std::map<std::string, http::Addresses>;

class IndexTunnel {
 public:
  /// Returns once the node has its end. Throws as ssh::run_interactive; remote if it has none.
  IndexTunnel(const NodeAccess& access, const ssh::Host& host, TunnelPlaces places,
              http::CurlSettings network);
  ~IndexTunnel();
  IndexTunnel(const IndexTunnel&) = delete;
  IndexTunnel& operator=(const IndexTunnel&) = delete;

  /// Returns "http://fastgpu:...@127.0.0.1:4711": for programs of the same user on the node.
  Secret proxy() const;

  /// Returns the requested places that are not allowed, each once.
  std::vector<std::string> refused() const;

 private:
  void hold_session(const NodeAccess& access, const ssh::Host& host);
  std::uint16_t read_port() const;
  void serve();
  UniqueFd open_stream();
  void serve_client(UniqueFd client);
  UniqueFd connect(const std::string& host, std::uint16_t port);

  /// A connection of one of the node's programs.
  struct Client {
    std::atomic<bool> is_over = false;
    std::jthread thread{};
  };

  TunnelPlaces places_;
  http::CurlSettings network_;
  std::string password_;
  std::uint16_t port_ = 0;
  Cancel stop_;
  mutable std::mutex mutex_;
  std::set<std::string> refused_;
  std::list<Client> clients_;   // Used by the serving thread.
  std::exception_ptr failure_;  // The failure of the session.
  UniqueFd ours_;               // One of a pair; the session has the other.
  UniqueFd sessions_;
  std::jthread session_;
  std::jthread server_;
};

}  // namespace fastgpu::envs
