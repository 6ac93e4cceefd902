// fastgpu-fashion: trains on Fashion-MNIST, to show what a wire and its types cost.
#include <filesystem>
#include <span>

#include "fashion.hpp"
#include "program.hpp"

int main(int count, char** arguments) {
  const training::TrainingProgram program{
      .name = "fastgpu-fashion",
      .about = "a network with one hidden layer on Fashion-MNIST",
      .data_help = "folder of its four files",
      .recipe = {.hidden = {128}, .learning_rate = 0.05F},
      .defaults = {.global_batch = 128, .epochs = 10, .data = fashion::kDefaultFolder},
      .load = [](const std::filesystem::path& folder) { return fashion::load_fashion(folder); }};
  const std::span<char* const> all(arguments, static_cast<std::size_t>(count));
  return training::run(program, all.subspan(1));
}
