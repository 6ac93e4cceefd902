// Translates flags of mpirun, horovodrun and perseusrun to those of run job.
#pragma once

#include <string>
#include <vector>

#include "cli/program/arguments.hpp"

namespace fastgpu::cli {

/// Translates the flags in `words`, the words of run job after its name, whose own flags are
/// `arguments`. Other words, and those after "--", stay unchanged. For example, "-n 4 -npernode 2
/// --fusion-threshold-mb 32" becomes "--np=4 --npernode=2 --env=HOROVOD_FUSION_THRESHOLD=33554432".
/// Flags that ask for what fastgpu does anyway are dropped. Throws ErrorKind::usage, with an
/// alternative, for those that it cannot honour.
std::vector<std::string> translate_launcher_words(const std::vector<std::string>& words,
                                                  const Arguments& arguments);

/// Returns advice for words of run job that were refused, in their own order: "; put the program
/// after --: fastgpu mpirun -np 2 -- ./a.out --epochs 3". Empty unless a word without a flag is
/// followed by a flag that is unknown, not supported or repeated, and "--" is missing: that word is
/// then probably the program. `command` is the command as it was typed. Values of variables are
/// left out.
std::string program_advice(const std::string& command, const std::vector<std::string>& words,
                           const Arguments& arguments);

}  // namespace fastgpu::cli
