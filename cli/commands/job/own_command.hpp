// This command once more, as a process of its own: in the background, or for one job of an array.
#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "cli/program/context.hpp"
#include "process/child.hpp"

namespace fastgpu::cli {

/// Set for a fastgpu in the background, which waits for the turn of a job.
inline constexpr const char* kInQueue = "FASTGPU_IN_QUEUE";
/// Set for a fastgpu that runs one job of an array: the job's id.
inline constexpr const char* kInArray = "FASTGPU_IN_ARRAY";
/// Set beside it: the names of the nodes that the array has lost, separated by commas.
inline constexpr const char* kWithoutNodes = "FASTGPU_WITHOUT_NODES";

/// Returns the command line of this process, for another one of its kind.
std::vector<std::string> own_words();

/// The answer of a process in the background.
struct BackgroundAnswer {
  std::string id{};        ///< The job or array that it has recorded; empty if it has failed.
  int exit_code = 0;       ///< The code of a failure whose reason it has printed.
  std::string document{};  ///< The error as a document, if one was requested.
};

/// Starts this command again in a session of its own. Returns once it has reported what it has
/// recorded by report_and_leave().
BackgroundAnswer start_in_background();

/// Shows the document of a process that has failed. Returns its exit code.
int show_failure(Context& context, const BackgroundAnswer& answer);

/// Reports an id to the fastgpu that started this one, and leaves its streams.
void report_and_leave(Context& context, const std::string& id);

/// Returns our environment without what a fastgpu in the background, or for one job of an array, is
/// started with: for another program.
std::vector<std::string> environment_of_others();

/// Starts this command again for one job of an array, without output. `input` is its standard
/// input, and `lost` the names of the nodes that the array has lost. It ends with this process, and
/// gets our stderr by array_errors().
process::Child start_for_element(const std::string& job, const std::string& input,
                                 const std::string& lost);

/// Returns the stderr of the array, for the output of programs that the user runs here, if this
/// process runs one of its jobs; else an empty descriptor. To be called once, before any output.
UniqueFd array_errors(Context& context);

/// Runs fastgpu with `words` to its end. Its standard output is dropped, and Ctrl-C reaches it,
/// too. Returns its exit code.
int run_own_command(const std::vector<std::string>& words);

}  // namespace fastgpu::cli
