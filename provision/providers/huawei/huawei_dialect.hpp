// The signatures and the refusals of Huawei Cloud's APIs.
#pragma once

#include "provision/cloud/answer.hpp"
#include "provision/cloud/caller.hpp"

namespace fastgpu::provision::huawei {

class HuaweiDialect final : public cloud::Dialect {
 public:
  std::string_view cloud() const noexcept override { return "huawei"; }
  void sign(http::Request& request, const cloud::CloudCall& call, const signing::Keys& keys,
            std::chrono::system_clock::time_point now) const override;
  /// Returns the refusal. Services refuse in four forms, and some of them with a status of success.
  std::optional<cloud::Failure> failure_in(const http::Response& response) const override;
  bool is_answer(const http::Response& response, const cloud::CloudCall& call) const override;
  std::string request_id(const http::Response& response) const override;
};

/// Returns the meaning of an error code, or of the status if the code is unknown.
cloud::FailureKind kind_of(std::string_view code, int status, std::string_view message = {});

/// Returns the failure of a job or of one of its parts: by its code or, if that is a general one,
/// by the words of its reason.
cloud::Failure failure_of_job(const cloud::Answer& job);

}  // namespace fastgpu::provision::huawei
