// The signatures and the refusals of AWS's APIs.
#pragma once

#include "provision/cloud/caller.hpp"

namespace fastgpu::provision::aws {

class AwsDialect final : public cloud::Dialect {
 public:
  std::string_view cloud() const noexcept override { return "aws"; }
  void sign(http::Request& request, const cloud::CloudCall& call, const signing::Keys& keys,
            std::chrono::system_clock::time_point now) const override;
  /// Returns the refusal. The query services answer in XML, the others in JSON.
  std::optional<cloud::Failure> failure_in(const http::Response& response) const override;
  bool is_answer(const http::Response& response, const cloud::CloudCall& call) const override;
  std::string request_id(const http::Response& response) const override;
};

/// Returns the meaning of an error code of AWS.
cloud::FailureKind kind_of(std::string_view code, int status, std::string_view message = {});

}  // namespace fastgpu::provision::aws
