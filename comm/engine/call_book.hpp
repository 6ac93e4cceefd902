// What this rank has called, held against what others say that they call.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/common/number_table.hpp"
#include "comm/engine/call.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// Calls are numbered by what their messages' tags begin with: 12 bits that name a communicator,
/// and 24 that count its calls, from 0 and round again.
class CallBook {
 public:
  explicit CallBook(Rank self) : self_(self) {}

  /// Opens the chapter of a new communicator, whose first call has this number. Reports of other
  /// ranks about its calls that came earlier are kept.
  void open(std::uint64_t number);

  /// Throws ErrorKind::usage, naming the other rank and both calls, where one that was ahead of
  /// this rank has called something else.
  void begin(std::uint64_t number, const Note& note);

  /// Throws as above; a rank that is ahead is believed until this one gets there, and one that is
  /// more than a thousand calls behind is not looked at.
  void on_note(std::uint64_t number, Rank from, const Note& note);

 private:
  struct Known {
    std::uint64_t number = UINT64_MAX;
    Note note{};
  };
  /// The calls of one communicator.
  struct Chapter {
    std::uint64_t next = 0;     ///< The number of the next call.
    std::vector<Known> recent;  ///< Empty before the first.
  };
  struct Report {
    Rank from{};
    Note note{};
  };
  /// The calls that ranks ahead of this one have reported. Two that differ are enough: one of them
  /// differs from the call that this rank will make, too.
  struct Early {
    Report first{};
    std::optional<Report> different{};
  };

  static constexpr std::uint64_t kSequences = std::uint64_t{1} << 24;
  /// The calls of a communicator that may be under way at once and are looked at.
  static constexpr std::size_t kRecent = 1024;

  Chapter& chapter_of(std::uint64_t number) {
    const std::uint64_t communicator = number / kSequences;
    if (communicator >= chapters_.size()) chapters_.resize(communicator + 1);
    return chapters_[communicator];
  }
  static std::uint64_t age(std::uint64_t number, std::uint64_t next) noexcept;
  void check_early(std::uint64_t number, const Note& note);
  void keep_early(std::uint64_t number, const Report& report);

  Rank self_;
  std::vector<Chapter> chapters_;  ///< The chapters, by communicator.
  NumberTable<Early> early_;       ///< By the number of the call. It can be thousands.
};

}  // namespace fastgpu::comm
