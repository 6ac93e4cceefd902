// The command words of Alibaba Cloud's FastGPU, translated into ours: its users need not learn
// again.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fastgpu::cli {

/// A function that returns the text of a file; throws if it is missing.
using ReadText = std::function<std::string(const std::string& path)>;

/// Translates `words` of a command line without the program's name. Words outside the original's
/// grammar stay unchanged. "create -n t -np 2 -i ecs.gn6v-c8g1.2xlarge" becomes "create cluster t
/// --nodes 2 --instance-type ecs.gn6v-c8g1.2xlarge", and "stop task0.t" an error that names what
/// can be stopped. A create.cfg is read by `read`. Throws ErrorKind::usage for features of the
/// original that ours lacks, with an alternative.
std::vector<std::string> translate_legacy_command(std::vector<std::string> words,
                                                  const ReadText& read);

}  // namespace fastgpu::cli
