// Creates the clouds of the program: finds credentials by the vendors' rules, sends requests by
// libcurl, and shows the requests if this is wanted.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/ip.hpp"
#include "cli/workflows/services.hpp"
#include "http/curl_client.hpp"
#include "provision/cloud/caller.hpp"
#include "provision/cloud/cloud.hpp"
#include "provision/cloud/cloud_setup.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {

/// Prints requests as lines on stderr: "aws ec2 RunInstances us-east-1 ... 200 51 ms".
class ShownCalls final : public provision::cloud::CallObserver {
 public:
  explicit ShownCalls(Messages& messages) : messages_(messages) {}
  void show_all() noexcept { shows_ = true; }
  void attempted(const provision::cloud::CallReport& report) override;

 private:
  Messages& messages_;
  std::mutex mutex_;
  bool shows_ = false;
};

/// A factory of clouds. It must outlive the clouds that it creates.
class CloudFactory {
 public:
  /// `retry_limit` limits the repeated calls of the clouds.
  CloudFactory(Messages& messages, const state::Environment& environment, const Cancel& cancel,
               const provision::cloud::RetryLimit& retry_limit);

  void show_calls() noexcept { calls_.show_all(); }
  /// Clouds that are made from now on give up within seconds: for a command that can show what is
  /// on record in place of an answer.
  void give_up_soon() noexcept { backoff_ = {.attempts = 3, .deadline = std::chrono::seconds(5)}; }

  /// Returns the cloud; null for an unknown name.
  std::unique_ptr<provision::cloud::Cloud> make(const std::string& name);

  /// Returns this machine's public address as a range of one address. Throws, naming --ssh-from, if
  /// the address cannot be found.
  IpRange own_address();

 private:
  provision::cloud::ApiTools tools(provision::cloud::FindCredentials find);

  const state::Environment& environment_;
  const Cancel& cancel_;
  const provision::cloud::RetryLimit& retry_limit_;
  http::CurlClient http_;
  ShownCalls calls_;
  http::Backoff backoff_{};
};

}  // namespace fastgpu::cli
