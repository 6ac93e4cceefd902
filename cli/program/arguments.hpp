// The arguments of one command, described once: the parser, the help and the completion all read
// this.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace fastgpu::cli {

/// The kind of values that shell completion offers.
enum class Values : std::uint8_t {
  none,
  cluster,
  target,       ///< CLUSTER or CLUSTER/NODESET
  remote_path,  ///< CLUSTER[/NODESET]:PATH, or a path here
  job,
  node,
  provider,
  path,
  choice,
  environment,
  matrix_name,  ///< The matrix's name of an environment: "torch2.5.1-cu124-py312"
  region,
  gpus,
  schema,
};

/// A flag or a positional argument.
struct Argument {
  std::string name;     ///< "--nodes", or "NAME" for a positional.
  std::string value{};  ///< The name of the value in help; empty for a bare flag.
  std::string help{};
  std::string letter{};  ///< A second spelling: "-f", "-np".
  std::string group{};   ///< The heading under which help shows the flag; empty: the first one.
  Values values = Values::none;
  /// The allowed values. With Values::path they are only offered, and others are allowed, too.
  std::vector<std::string> choices{};
  /// Returns what to use in place of a value that is not among the choices; empty if that is
  /// unknown.
  std::function<std::string(const std::string&)> advice{};
  /// Takes a value that is not among the choices and means something else. Returns false for all
  /// others.
  std::function<bool(const std::string&)> other{};
  bool required = false;
  bool repeated = false;
  /// True if the flag means the same in every command that has it, so that one variable serves them
  /// all.
  bool shared = false;
  /// Receives each value, which is never empty, and "" for a bare flag. Throws ErrorKind::usage.
  std::function<void(const std::string&)> take{};

  bool positional() const noexcept { return !name.starts_with('-'); }
  bool bare() const noexcept { return !positional() && value.empty(); }
  /// Returns the variable that the flag may come from: "FASTGPU_CLUSTER" for the shared --cluster,
  /// "FASTGPU_RUN_JOB_TIMEOUT" for --timeout of the command "run job".
  std::string variable(std::string_view command) const;
};

/// The words after "--", for the commands that start a program elsewhere.
struct ProgramArgument {
  std::string help;
  bool required = true;
  std::vector<std::string>* words = nullptr;
};

/// All arguments of a command, in the order in which help shows them. Values are checked and stored
/// while the command line is parsed: each `target` must live until then.
class Arguments {
 public:
  Argument& add(Argument argument);
  void program(ProgramArgument program) { program_ = std::move(program); }

  /// Adds a flag or positional whose value is stored as it is.
  Argument& text(std::string_view name, std::string_view value, std::string_view help,
                 std::string& target);
  /// Adds one that may be repeated, whose values are collected.
  Argument& list(std::string_view name, std::string_view value, std::string_view help,
                 std::vector<std::string>& target);
  /// Adds a flag without a value.
  Argument& flag(std::string_view name, std::string_view help, bool& target);
  /// Adds a whole number between `least` and `most`.
  Argument& count(std::string_view name, std::string_view value, std::string_view help,
                  std::optional<int>& target, int least, int most);
  /// Adds the size of a disk of at most `most` GiB.
  Argument& disk(std::string_view name, std::string_view help, std::optional<int>& target,
                 int most);
  /// Adds a time with its unit, "90s".
  Argument& duration(std::string_view name, std::string_view help,
                     std::optional<std::chrono::milliseconds>& target);

  /// Begins a group: help shows the flags that are added from now on under this heading, such as
  /// "Storage". An empty title goes back to the flags without a group.
  void group(std::string_view title) { group_ = title; }

  /// Marks the result as a table: the user can sort its rows and leave its column titles out.
  void offer_table() noexcept { offers_table_ = true; }
  bool offers_table() const noexcept { return offers_table_; }

  /// Marks the result as one that is available as an HTML page, too.
  void offer_page() noexcept { offers_page_ = true; }
  bool offers_page() const noexcept { return offers_page_; }

  /// Marks the result as one without names, so that -o name is refused.
  void offer_no_names() noexcept { offers_names_ = false; }
  bool offers_names() const noexcept { return offers_names_; }

  /// Returns the flag spelt `word`, by its name or its letter, or null.
  const Argument* find(std::string_view word) const noexcept;
  const std::deque<Argument>& all() const noexcept { return all_; }
  const std::optional<ProgramArgument>& program() const noexcept { return program_; }

 private:
  std::deque<Argument> all_;  // A deque: references to its elements stay valid.
  std::optional<ProgramArgument> program_;
  std::string group_;
  bool offers_names_ = true;
  bool offers_page_ = false;
  bool offers_table_ = false;
};

/// Marks `flag` as one that means the same in every command that has it.
inline Argument& shared(Argument& flag) {
  flag.shared = true;
  return flag;
}

}  // namespace fastgpu::cli
