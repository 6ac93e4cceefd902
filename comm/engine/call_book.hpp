// What this rank has called, held against what others say that they call.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/call.hpp"
#include "comm/transports/rail.hpp"

namespace fastgpu::comm {

/// Calls are numbered by what their messages' tags begin with.
class CallBook {
 public:
  explicit CallBook(Rank self) : self_(self) {}

  /// Throws ErrorKind::usage, naming the other rank and both calls, where one that was ahead of
  /// this rank has called something else.
  void begin(std::uint64_t number, const Call& call);

  /// Throws as above; a rank that is ahead is believed until this one gets there.
  void heard(std::uint64_t number, Rank from, const Note& note);

 private:
  struct Known {
    std::uint64_t number = UINT64_MAX;
    Call call{};
  };
  struct Early {
    std::uint64_t number = 0;
    Rank from{};
    Note note{};
  };

  /// Communicators that run beside each other do not share places.
  Known& place_of(std::uint64_t number) {
    return recent_[(number + (number >> 24) * 131) % recent_.size()];
  }

  Rank self_;
  std::vector<Known> recent_{1024};
  std::vector<Early> early_;
};

}  // namespace fastgpu::comm
