// A local command to run: arguments, never a line for a shell.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::process {

/// Where one of a child's three standard streams leads.
enum class StreamMode : std::uint8_t { inherit, null, pipe };

/// The signals that reach the child.
enum class Grouping : std::uint8_t {
  shared,  ///< Our group: a Ctrl-C on our terminal reaches the child, too.
  group,   ///< A process group of its own.
  session  ///< A session of its own, without a terminal.
};

/// What happens to the child when the thread that started it ends.
enum class OnParentDeath : std::uint8_t { live_on, kill };

/// A write to a pipe or a socket without a reader kills the child, or it fails.
enum class OnBrokenPipe : std::uint8_t { kill, fail };

/// A stream's mode, or one of our descriptors for the child. The descriptor is borrowed and stays
/// open here.
struct ChildStream {
  StreamMode mode = StreamMode::inherit;
  int fd = -1;  ///< If at least 0, used in place of `mode`.
};

struct Command {
  std::vector<std::string> argv;  ///< argv[0] is looked up in PATH if it has no slash.
  ChildStream in{};
  ChildStream out{};
  ChildStream err{};
  std::filesystem::path directory{};  ///< Empty for our current directory.
  /// The whole environment as "K=V"; absent for ours.
  std::optional<std::vector<std::string>> environment{};
  Grouping grouping = Grouping::shared;
  OnParentDeath on_parent_death = OnParentDeath::live_on;
  OnBrokenPipe on_broken_pipe = OnBrokenPipe::kill;
};

/// Returns our own environment as "K=V".
std::vector<std::string> current_environment();

/// Sets K of "K=V" in `environment` and replaces an earlier value.
void set_variable(std::vector<std::string>& environment, const std::string& assignment);

/// Returns the value of `name` in `environment`; absent if it is not set.
std::optional<std::string> variable(const std::vector<std::string>& environment,
                                    std::string_view name);

/// Returns the path of the program `name`: `name` itself if it has a slash, else the first
/// executable with that name in `path` ("a:b:c"). Throws not_found ("mpirun: No such file or
/// directory"), and denied if there are only files with that name that may not be run.
std::filesystem::path find_program(const std::string& name, std::string_view path);

}  // namespace fastgpu::process
