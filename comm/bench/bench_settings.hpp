// The command line of the measuring programs: the measured calls, and how.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "comm/bench/collective.hpp"
#include "comm/bench/sizes.hpp"

namespace fastgpu::comm::bench {

/// The place of the collectives' data: the program's own memory, or memory of the library.
enum class Buffers : std::uint8_t { own, heap };

/// The way of a model's gradients into the library: copied, or written to its views.
enum class Handing : std::uint8_t { copies, views };

struct BenchSettings {
  std::vector<BenchCollective> collectives{};  ///< Empty if only a model is measured.
  std::vector<ElementType> types{ElementType::float32};
  std::vector<Bytes> sizes = parse_sizes("8:128M:4");
  Buffers buffers = Buffers::own;
  std::string model{};  ///< The argument of find_model; empty for none.
  Handing handing = Handing::copies;
  bool compares_codecs = false;  ///< The model is exchanged by each codec in turn.
  int steps = 20;
  int repetitions = 7;
  int calls = 0;  ///< Number of calls in each batch; 0: as many as take a while.
  bool is_checked = true;
  std::string label{};         ///< The name of the results; empty: the library's own name.
  bool reports_links = false;  ///< Each rank prints the counts of its networks at the end.
  bool only_prints_model = false;
  std::string help{};  ///< The help to print if it was asked for, with no other action; else empty.
};

/// An option that only one of the programs has.
struct OwnOption {
  std::string name;  ///< "--store"
  std::string help;
  std::string* value = nullptr;
};

struct BenchProgram {
  std::string name;
  std::string about;
  std::vector<OwnOption> options{};
};

/// Reads --sizes, --collective, --dtype, --buffers, --model, --memory, --codecs, --steps,
/// --repetitions, --calls, --no-check, --label, --links, --print-model. With a model alone, only
/// that is measured; without any, all_reduce is. Throws ErrorKind::usage, naming the option and the
/// value met.
BenchSettings settings_of(const BenchProgram& program, std::span<const std::string> words);

}  // namespace fastgpu::comm::bench
