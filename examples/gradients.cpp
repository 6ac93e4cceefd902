// Averages the gradients of a small model over all ranks, with the C++ interface of
// libfastgpu_comm.
//
// Build: c++ -std=c++20 gradients.cpp -o gradients $(pkg-config --cflags --libs fastgpu_comm)
// Run:   fastgpu run job --cluster demo -np 2 --sync . -- ./gradients
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fastgpu_comm.hpp>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kLayers = 3;
constexpr std::size_t kWidth = 1000;
constexpr int kSteps = 3;

/// Your program computes here the gradient of its share of the batch.
void backward(std::vector<float>& gradient, std::size_t layer, int rank) {
  std::ranges::fill(gradient, static_cast<float>(layer) + static_cast<float>(rank));
}

void train(fgc::Communicator& comm) {
  std::vector<std::vector<float>> values(kLayers, std::vector<float>(kWidth));
  fgc::Gradients gradients(comm);
  std::vector<std::size_t> ids;  // Registered once, in the same order on all ranks.
  for (std::size_t layer = 0; layer < kLayers; ++layer)
    ids.push_back(gradients.add("layer" + std::to_string(layer) + ".weight", values[layer]));

  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t layer = kLayers; layer-- > 0;) {
      backward(values[layer], layer, comm.rank());
      gradients.ready(ids[layer]);  // Sends it at once.
    }
    const fgc_outcome outcome = gradients.wait();  // Now they are averages.
    if (outcome.is_applied == 0) continue;  // A value is not finite: all ranks skip the step.
    std::printf("rank %d of %d, step %d: %g\n", comm.rank(), comm.size(), step,
                static_cast<double>(values.back().front()));
  }
  comm.barrier();  // No rank leaves while another one still reads.
}

}  // namespace

int main() try {
  fgc::Communicator comm;
  train(comm);
} catch (const std::exception& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
