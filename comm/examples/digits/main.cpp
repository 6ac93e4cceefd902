// fastgpu-digits: a training program that uses libfastgpu_comm, small enough to read.
#include <filesystem>
#include <span>

#include "digits.hpp"
#include "program.hpp"

namespace {

namespace fs = std::filesystem;

/// Returns the data that came with this program, for a build and for an installation.
fs::path default_data() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  fs::path built = folder / "digits.csv";
  if (fs::exists(built, error)) return built;
  return folder.parent_path() / "share" / "fastgpu" / "digits" / "digits.csv";
}

}  // namespace

int main(int count, char** arguments) {
  const training::TrainingProgram program{
      .name = "fastgpu-digits",
      .about = "a small network on handwritten digits",
      .data_help = "lines of 64 pixels and a digit",
      .recipe = {.hidden = {128, 64}, .learning_rate = 0.05F},
      .defaults = {.global_batch = 64, .epochs = 30, .data = default_data()},
      .load = [](const fs::path& file) { return digits::split(digits::load_digits(file)); }};
  const std::span<char* const> all(arguments, static_cast<std::size_t>(count));
  return training::run(program, all.subspan(1));
}
