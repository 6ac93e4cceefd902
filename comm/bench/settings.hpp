// The command line of the measuring programs: what is measured, and how.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "comm/bench/collective.hpp"
#include "comm/bench/sizes.hpp"

namespace fastgpu::comm::bench {

/// Where collectives find their data: the program's own memory, or what the library has allocated.
enum class Buffers : std::uint8_t { own, heap };

/// How a model's gradients get into the library: copied, or written where it wants them.
enum class Handing : std::uint8_t { copies, views };

struct Settings {
  std::vector<Collective> collectives{};  ///< Empty where only a model is measured.
  std::vector<ElementType> types{ElementType::float32};
  std::vector<Bytes> sizes = parse_sizes("8:128M:4");
  Buffers buffers = Buffers::own;
  std::string model{};  ///< As find_model takes it; empty: none.
  Handing handing = Handing::copies;
  int steps = 20;
  int repetitions = 7;
  int calls = 0;  ///< In each batch; 0: as many as take a while.
  bool is_checked = true;
  std::string label{};  ///< What results are called; empty: the library's own name.
  bool only_prints_model = false;
  std::string help{};  ///< Not empty where it is asked for: to be printed, and nothing done.
};

/// An option that only one of the programs has.
struct OwnOption {
  std::string name;  ///< "--store"
  std::string help;
  std::string* value = nullptr;
};

struct Program {
  std::string name;
  std::string about;
  std::vector<OwnOption> options{};
};

/// --sizes, --collective, --dtype, --buffers, --model, --memory, --steps, --repetitions, --calls,
/// --no-check, --label, --print-model. With a model alone, only that is measured; all_reduce where
/// nothing is said. Throws ErrorKind::usage, naming the option and the value met.
Settings settings_of(const Program& program, std::span<const std::string> words);

}  // namespace fastgpu::comm::bench
