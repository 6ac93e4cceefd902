// The numbers of a job's processes.
#pragma once

#include <cstdint>
#include <string>

#include "base/strong.hpp"

namespace fastgpu::comm {

using Rank = Strong<struct RankTag, int>;  ///< Counted from 0.

/// Returns "rank 3".
inline std::string name_of(Rank rank) {
  return "rank " + std::to_string(rank.value);
}

/// Returns a sentence of another rank, with its name: "barrier number 2 (rank 3 says so)". One that
/// begins with the name, "rank 3: eth7 is missing", has it already.
inline std::string said_by(const std::string& sentence, Rank rank) {
  const std::string name = name_of(rank);
  const bool is_named =
      sentence.starts_with(name + ": ") || sentence.starts_with(name + " meeting ");
  return is_named ? sentence : sentence + " (" + name + " says so)";
}

/// The consequence for a message if its receiver has gone, or goes.
enum class IfGone : std::uint8_t {
  fails,       ///< The job cannot go on.
  is_ignored,  ///< Used for a message that is obsolete then.
};

}  // namespace fastgpu::comm
