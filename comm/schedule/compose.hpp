// The parts of which programs are made: slices, pieces, and smaller programs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/schedule/program.hpp"

namespace fastgpu::comm {

/// A rank's place among those that take part.
struct RankPlace {
  int self = 0;   ///< 0 .. ranks - 1.
  int ranks = 1;  ///< At least 1.

  int right(int by = 1) const noexcept { return (self + by) % ranks; }  ///< by is 0 .. ranks.
  int left(int by = 1) const noexcept { return (self + ranks - by) % ranks; }
};

/// The way in which one transfer is cut, so that a piece travels while the one before it is
/// reduced. All ranks of a collective cut alike.
struct Cut {
  int pieces = 1;
  int lanes = 1;  ///< 1 .. 256: piece p travels on lane p modulo lanes.

  friend auto operator<=>(const Cut&, const Cut&) = default;
};

struct Piece {
  Part part{};
  std::uint8_t lane = 0;
};

/// Returns the first `count` elements of the caller's data.
Part whole_of(std::uint64_t count) noexcept;

/// Returns slice `index` of `slices`; the first ones are an element longer if it does not divide.
Part slice_of(const Part& whole, int index, int slices) noexcept;

/// Returns slices `first` up to, and without, `last`.
Part slices_of(const Part& whole, int first, int last, int slices) noexcept;

Piece piece_of(const Part& slice, int index, Cut cut) noexcept;
std::vector<Piece> pieces_of(const Part& slice, Cut cut);

/// Adder of steps to a program. A message of an empty part is a message, too: its peer may have
/// another length there, and its note carries the call. Local steps of empty parts are left out.
class Writer {
 public:
  explicit Writer(Program& program) : steps_(program.steps) {}

  void send(int peer, const Piece& piece);
  void receive(int peer, const Piece& piece);
  void receive_reduce(int peer, const Piece& piece);
  void copy(const Part& to, const Part& from);
  void reduce(const Part& to, const Part& from);

 private:
  std::vector<Step>& steps_;
};

/// Adds the steps of `second` to `first`. Both use the same scratch, one after the other.
void append(Program& first, const Program& second);
Program then(Program first, const Program& second);

/// Renames the ranks of `program`: its rank i becomes ranks[i].
Program on_group(Program program, std::span<const Rank> ranks);

/// Moves `program` to elements of data and input that begin at `offset`.
Program at_offset(Program program, std::uint64_t offset);

/// Moves lane 0 of `program` to `first`, and so on.
Program from_lane(Program program, std::uint8_t first);

}  // namespace fastgpu::comm
