// The signatures and the refusals of Tencent Cloud's API 3.0. Refusals have HTTP status 200.
#pragma once

#include "provision/cloud/caller.hpp"

namespace fastgpu::provision::tencent {

class TencentDialect final : public cloud::Dialect {
 public:
  std::string_view cloud() const noexcept override { return "tencent"; }
  void sign(http::Request& request, const cloud::CloudCall& call, const signing::Keys& keys,
            std::chrono::system_clock::time_point now) const override;
  /// Returns a refusal for any answer with an error in it, whatever its status.
  std::optional<cloud::Failure> failure_in(const http::Response& response) const override;
  bool is_answer(const http::Response& response, const cloud::CloudCall& call) const override;
  std::string request_id(const http::Response& response) const override;
};

/// Returns the version of an API that we use: of "cvm", "vpc" or "sts".
std::string_view version_of(std::string_view service);

/// Returns the meaning of an error code of Tencent Cloud.
cloud::FailureKind kind_of(std::string_view code, int status, std::string_view message = {});

}  // namespace fastgpu::provision::tencent
