// The meaning of a cloud's refusal, independent of the cloud's codes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace fastgpu::provision::cloud {

enum class FailureKind : std::uint8_t {
  throttled,    ///< Too many calls: repeat later.
  busy,         ///< A fault of the cloud, or a resource that is just changing: repeat later.
  stock,        ///< No such machines are available there now.
  quota,        ///< The account's limit is reached.
  price,        ///< The limit on the spot price is too low.
  money,        ///< The account cannot pay.
  account,      ///< The account is restricted: it is not verified, or lacks a way of payment.
  permission,   ///< The credentials are right, but lack the permission.
  credentials,  ///< The credentials are wrong or unknown.
  expired,      ///< The credentials were right and have expired.
  clock_skew,   ///< Our clock and the cloud's differ.
  not_found,
  name_taken,    ///< Another resource has that name.
  in_use,        ///< The resource cannot be removed while another one needs it.
  done_already,  ///< The resource is in the wanted state already.
  /// The idempotency token was used for another request, or for ended machines.
  token_used,
  dry_run_passed,  ///< The trial would have succeeded, in the answer of some clouds.
  invalid,         ///< The request is wrong.
};

struct Failure {
  FailureKind kind = FailureKind::invalid;
  std::string cloud{};       ///< The cloud's name; empty: unknown.
  std::string code{};        ///< The cloud's code.
  std::string message{};     ///< The cloud's message.
  std::string request_id{};  ///< The number for a question to the cloud's support.
  /// The source of the credentials of the call: "AWS_ACCESS_KEY_ID"; empty: unknown.
  std::string credentials{};
  /// True if a repetition may have helped, but the command's time limit left no time for it.
  bool is_out_of_time = false;
  bool is_start = false;  ///< True if machines that exist were to be started.
  std::optional<std::chrono::milliseconds> retry_after{};
};

/// One row of a cloud's table: codes that begin with `prefix` mean `kind`.
struct CodeMeaning {
  std::string_view prefix;
  FailureKind kind;
};

/// Returns the meaning of an error code by its words, which all clouds form alike:
/// "VpcLimitExceeded", "InvalidDiskCategory.NotSupported". Absent if the words have no known
/// meaning.
std::optional<FailureKind> kind_by_shape(std::string_view code);

/// Returns the meaning of a cloud's message, for codes without a known meaning: "no valid host was
/// found".
std::optional<FailureKind> kind_by_words(std::string_view message);

/// Returns the meaning of a refusal: by the first row of the cloud's own `exceptions` whose prefix
/// fits, else by the code's words, else by the status (429, 5xx), else by the message; invalid if
/// none of them has a known meaning.
FailureKind kind_of_failure(std::string_view code, std::string_view message, int status,
                            std::span<const CodeMeaning> exceptions);

/// Returns "launching 4 p4d.24xlarge in us-east-1a: quota: VcpuLimitExceeded: ... (request 1234)",
/// with a remedy if the kind has one. A code that means a lack of stock stands alone. The kind of
/// the error is timeout if no time was left for another attempt.
Error error_of(const Failure& failure, std::string_view doing);

/// Returns true if a repetition of the same call may succeed.
bool is_worth_repeating(FailureKind kind) noexcept;

}  // namespace fastgpu::provision::cloud
