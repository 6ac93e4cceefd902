// The words by which a cloud names the states of its machines.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "provision/cloud/model.hpp"

namespace fastgpu::provision::cloud {

/// One row of a cloud's table.
struct StateWord {
  std::string_view word;
  MachineState state;
};

/// Returns the state that a word means. An unknown word counts as an existing machine: pending.
inline MachineState state_by_word(std::span<const StateWord> table, std::string_view word) {
  const auto row = std::ranges::find(table, word, &StateWord::word);
  return row == table.end() ? MachineState::pending : row->state;
}

}  // namespace fastgpu::provision::cloud
