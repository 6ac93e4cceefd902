// Lengths of the gradients of well-known models, as benchmarks exchange them.
#pragma once

#include <cstddef>
#include <vector>

namespace fastgpu::comm {

/// Elements of each gradient.
using GradientList = std::vector<std::size_t>;

/// ResNet-50: 161 tensors, 25.6 million elements.
inline GradientList resnet50() {
  GradientList list{std::size_t{64} * 3 * 7 * 7, 64, 64};
  const auto add_convolution = [&list](std::size_t in, std::size_t out, std::size_t side) {
    list.insert(list.end(), {in * out * side * side, out, out});  // With its normalisation.
  };
  constexpr std::size_t kBlocks[] = {3, 4, 6, 3};
  std::size_t in = 64;
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const std::size_t width = std::size_t{64} << stage;
    for (std::size_t block = 0; block < kBlocks[stage]; ++block) {
      add_convolution(in, width, 1);
      add_convolution(width, width, 3);
      add_convolution(width, 4 * width, 1);
      if (block == 0) add_convolution(in, 4 * width, 1);
      in = 4 * width;
    }
  }
  list.insert(list.end(), {std::size_t{2048} * 1000, 1000});
  return list;
}

/// BERT-large with its pre-training heads: 335 million elements in 398 tensors.
inline GradientList bert_large() {
  constexpr std::size_t kWidth = 1024;
  constexpr std::size_t kWords = 30522;
  GradientList list{kWords * kWidth, 512 * kWidth, 2 * kWidth, kWidth, kWidth};
  for (int layer = 0; layer < 24; ++layer) {
    for (int matrix = 0; matrix < 4; ++matrix)
      list.insert(list.end(), {kWidth * kWidth, kWidth});
    list.insert(list.end(), {kWidth, kWidth, 4 * kWidth * kWidth, 4 * kWidth});
    list.insert(list.end(), {4 * kWidth * kWidth, kWidth, kWidth, kWidth});
  }
  list.insert(list.end(), {kWidth * kWidth, kWidth});                     // Pooler.
  list.insert(list.end(), {kWords, kWidth * kWidth, kWidth});             // Words to guess.
  list.insert(list.end(), {kWidth, kWidth, 2 * kWidth, std::size_t{2}});  // Next sentence.
  return list;
}

}  // namespace fastgpu::comm
