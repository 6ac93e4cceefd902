// The times in what Slurm reports about a job, by their age: the head may have another clock. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace fastgpu::launcher {

/// The time that had passed since a moment, by the clock of the head, when it answered.
using SlurmAge = std::optional<std::chrono::seconds>;

/// Returns the age of a time, which is a number of seconds since 1970, in an answer whose line
/// "clock SECONDS" has the present time. Absent if one of them is missing or anything else, such as
/// "Unknown" or a date, and for a time in the future.
SlurmAge age_of(std::string_view time, std::string_view answer);

/// Returns the age of the time in the line "ended SECONDS" of an answer, at which the batch script
/// ended.
SlurmAge age_of_script_end(std::string_view answer);

}  // namespace fastgpu::launcher
