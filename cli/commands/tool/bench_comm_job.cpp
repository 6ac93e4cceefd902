#include "cli/commands/tool/bench_comm_job.hpp"

#include "cli/commands/tool/bench_comm_report.hpp"
#include "cli/workflows/helper_programs.hpp"

namespace fastgpu::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "fastgpu-comm-bench";
constexpr const char* kDynamicProgram = "fastgpu-comm-bench-dynamic";
constexpr const char* kFabricPlugin = "libfastgpu_comm_fabric.so";

void put_copy(const fs::path& from, const fs::path& to) {
  std::error_code failure;
  fs::create_directories(to.parent_path(), failure);
  if (!failure) fs::copy_file(from, to, failure);
  if (failure)
    throw system_error("copying " + from.string() + " to " + to.string(), failure.value());
}

}  // namespace

BenchFiles::BenchFiles(const fs::path& state_directory, const fs::path& model, BenchLinkage linkage)
    : scratch_(state_directory) {
  const bool has_fabric = linkage == BenchLinkage::with_fabric;
  put_copy(find_helper(has_fabric ? kDynamicProgram : kProgram), directory() / kProgram);
  if (has_fabric) put_copy(find_helper(kFabricPlugin), directory() / kFabricPlugin);
  if (!model.empty()) put_copy(model, directory() / model_file(model));
}

std::string BenchFiles::program() {
  return std::string("./") + kProgram;
}

std::string BenchFiles::model_file(const fs::path& original) {
  return "model/" + original.filename().string();
}

BenchOutput::BenchOutput(Context& context)
    : FirstRankLines(context, [this, &ui = context.ui()](const std::string& line) {
        results_.push_back(comm::bench::parse_result(line));
        const auto& result = results_.back();
        ui.progress("measured " + result.collective + " of " + exact_size(result.bytes));
      }) {}

const std::vector<comm::bench::BenchResult>& BenchOutput::results() const {
  check();
  return results_;
}

}  // namespace fastgpu::cli
