// A cluster or job file as somebody else may have written it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "launcher/job_file.hpp"
#include "provision/cluster_file/cluster_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const auto document = fastgpu::config::Document::parse(text, "input");
    fastgpu::provision::read_cluster_file(document);
  } catch (const fastgpu::Error&) {
  }
  try {
    fastgpu::launcher::read_job_file(fastgpu::config::Document::parse(text, "input"));
  } catch (const fastgpu::Error&) {
  }
  return 0;
}
