// The command words of Alibaba Cloud's FastGPU, said in ours: who knows those need not learn again.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fastgpu::cli {

/// The text of a file; throws where there is none.
using ReadText = std::function<std::string(const std::string& path)>;

/// `words` of a command line without the program's name. What is not of the original's grammar
/// stays as it is: "create -n t -np 2 -i ecs.gn6v-c8g1.2xlarge" becomes "create cluster t --nodes 2
/// --instance-type ecs.gn6v-c8g1.2xlarge", "stop task0.t" an error that says what can be stopped. A
/// create.cfg is read by `read`. Throws ErrorKind::usage for what the original had and we have not,
/// with what to do instead.
std::vector<std::string> in_our_words(std::vector<std::string> words, const ReadText& read);

}  // namespace fastgpu::cli
