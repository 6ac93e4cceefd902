#include "agent/jobs/node_names.hpp"

#include "agent/files/disk.hpp"
#include "agent/protocol/plan.hpp"
#include "base/split.hpp"

namespace fastgpu::agent {

std::string node_name(const std::filesystem::path& job_directory, const std::string& name) {
  const std::string text = read_file(job_directory / kNodeNames).value_or("");
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with(name + " ")) return std::string(line.substr(name.size() + 1));
  return name;
}

}  // namespace fastgpu::agent
