// How Tencent Cloud's API 3.0 is signed and how it refuses: with HTTP 200.
#pragma once

#include "provision/cloud/caller.hpp"

namespace fastgpu::provision::tencent {

class TencentDialect final : public cloud::Dialect {
 public:
  std::string_view cloud() const noexcept override { return "tencent"; }
  void sign(http::Request& request, const cloud::Call& call, const signing::Keys& keys,
            std::chrono::system_clock::time_point now) const override;
  /// An answer with an error in it is a refusal whatever its status.
  std::optional<cloud::Failure> failure_in(const http::Response& response) const override;
  bool is_answer(const http::Response& response, const cloud::Call& call) const override;
  std::string request_id(const http::Response& response) const override;
};

/// The version of an API that we speak: of "cvm", "vpc" or "sts".
std::string_view version_of(std::string_view service);

/// What an error code of Tencent Cloud means.
cloud::FailureKind kind_of(std::string_view code, int status, std::string_view message = {});

}  // namespace fastgpu::provision::tencent
