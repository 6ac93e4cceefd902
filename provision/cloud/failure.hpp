// What a cloud's refusal means, whatever words the cloud has for it.
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
  throttled,    ///< Too many calls: again, later.
  busy,         ///< The cloud's own trouble, or a thing that is just changing: again, later.
  stock,        ///< No such machines there now.
  quota,        ///< The account may not have so many.
  price,        ///< The limit on the spot price is too low.
  money,        ///< The account cannot pay.
  permission,   ///< The credentials are right and may not do this.
  credentials,  ///< They are wrong, unknown or expired.
  clock_skew,   ///< Our clock and theirs differ.
  not_found,
  name_taken,      ///< Another thing has that name.
  in_use,          ///< It cannot be removed as long as another thing needs it.
  done_already,    ///< It is as it was to become.
  token_used,      ///< The idempotency token stands for another request, or for ended machines.
  dry_run_passed,  ///< How some clouds say that a trial would have succeeded.
  invalid,         ///< The request is wrong.
};

struct Failure {
  FailureKind kind = FailureKind::invalid;
  std::string cloud{};       ///< Whose it is; empty: not told.
  std::string code{};        ///< The cloud's.
  std::string message{};     ///< The cloud's.
  std::string request_id{};  ///< What the cloud's support asks for.
  std::optional<std::chrono::milliseconds> retry_after{};
};

/// One row of a cloud's table: codes that begin with `prefix` mean `kind`.
struct CodeMeaning {
  std::string_view prefix;
  FailureKind kind;
};

/// What an error code means by the words that it is made of, which all clouds form alike:
/// "VpcLimitExceeded", "InvalidDiskCategory.NotSupported"; absent where they do not tell.
std::optional<FailureKind> kind_by_shape(std::string_view code);

/// The same of a cloud's own sentence, for codes that do not tell: "no valid host was found".
std::optional<FailureKind> kind_by_words(std::string_view message);

/// The meaning of a refusal: by the first row of the cloud's own `exceptions` whose prefix fits,
/// else by the code's shape, else by the status (429, 5xx), else by the message; invalid where
/// nothing tells.
FailureKind kind_of_failure(std::string_view code, std::string_view message, int status,
                            std::span<const CodeMeaning> exceptions);

/// "launching 4 p4d.24xlarge in us-east-1a: no stock: InsufficientInstanceCapacity: ... (request
/// 1234)", and where the kind has a way out, what it is.
Error error_of(const Failure& failure, std::string_view doing);

/// Whether a repetition of the same call may succeed.
bool is_worth_repeating(FailureKind kind) noexcept;

}  // namespace fastgpu::provision::cloud
