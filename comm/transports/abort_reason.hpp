// The bytes of an abort notice: why a rank gives up the job, or another rank.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "comm/common/caused_error.hpp"
#include "comm/common/rank.hpp"

namespace fastgpu::comm {

/// Returns the notice that tells of `error`: one byte for its kind, four for the rank that has
/// caused it, if that is another one, then its text.
std::vector<std::byte> abort_reason(const Error& error, std::optional<Rank> culprit);

/// Returns the error that a notice of rank `from` reports, with that rank's name. Its culprit is
/// the rank that the notice blames, or else `from`; none where ranks differ (ErrorKind::usage).
/// `reason` comes from another process and is not
/// empty: an unknown kind becomes ErrorKind::remote, and control characters become '?'.
CausedError error_of_abort(std::span<const std::byte> reason, Rank from);

}  // namespace fastgpu::comm
