// Translates command lines of Alibaba Cloud's FastGPU, so that its users need not learn new ones.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fastgpu::cli {

/// Returns the text of a file. Throws if the file is missing.
using ReadText = std::function<std::string(const std::string& path)>;

/// Translates `words`, a command line without the program's name. Other words stay unchanged. For
/// example, "create -n t -np 2 -i ecs.gn6v-c8g1.2xlarge" becomes "create cluster t --nodes 2
/// --instance-type ecs.gn6v-c8g1.2xlarge". Reads a create.cfg by `read`. Throws ErrorKind::usage,
/// with an alternative, for features that fastgpu lacks, such as "stop task0.t".
std::vector<std::string> translate_legacy_command(std::vector<std::string> words,
                                                  const ReadText& read);

}  // namespace fastgpu::cli
