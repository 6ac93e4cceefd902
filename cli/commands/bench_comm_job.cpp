#include "cli/commands/bench_comm_job.hpp"

#include "cli/commands/bench_comm_report.hpp"
#include "cli/helpers.hpp"

namespace fastgpu::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "fastgpu-comm-bench";
constexpr std::size_t kLongestLine = std::size_t{16} << 20;

void put_copy(const fs::path& from, const fs::path& to) {
  std::error_code failure;
  fs::create_directories(to.parent_path(), failure);
  if (!failure) fs::copy_file(from, to, failure);
  if (failure)
    throw system_error("copying " + from.string() + " to " + to.string(), failure.value());
}

}  // namespace

BenchFiles::BenchFiles(const fs::path& state_directory, const fs::path& model)
    : scratch_(state_directory) {
  put_copy(find_helper(kProgram), directory() / kProgram);
  if (!model.empty()) put_copy(model, directory() / model_file(model));
}

std::string BenchFiles::program() {
  return std::string("./") + kProgram;
}

std::string BenchFiles::model_file(const fs::path& original) {
  return "model/" + original.filename().string();
}

void BenchOutput::output(int rank, agent::OutputStream stream, std::string_view bytes) {
  if (rank != 0 || stream != agent::OutputStream::out)
    return JobOutput::output(rank, stream, bytes);
  unfinished_ += bytes;
  std::size_t from = 0;
  for (std::size_t end = 0; (end = unfinished_.find('\n', from)) != std::string::npos;
       from = end + 1)
    take(unfinished_.substr(from, end - from));
  unfinished_.erase(0, from);
  if (unfinished_.size() > kLongestLine) {
    failure_ = Error(ErrorKind::remote, "rank 0 writes a line that has no end");
    unfinished_.clear();
  }
}

void BenchOutput::take(const std::string& line) {
  try {
    results_.push_back(comm::bench::parse_result(line));
    const auto& result = results_.back();
    ui_.progress("measured " + result.collective + " of " + exact_size(result.bytes));
  } catch (const Error& e) {
    if (!failure_) failure_ = e.during("rank 0");
  }
}

const std::vector<comm::bench::Result>& BenchOutput::results() const {
  if (failure_) throw Error(*failure_);
  return results_;
}

}  // namespace fastgpu::cli
