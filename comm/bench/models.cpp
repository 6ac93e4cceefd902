#include "comm/bench/models.hpp"

#include <utility>

namespace fastgpu::comm::bench {
namespace {

class Layers {
 public:
  void add(const std::string& name, std::size_t elements, std::size_t rows = 0) {
    gradients_.push_back({name, elements, rows});
  }

  void convolution(const std::string& name, std::size_t in, std::size_t out, std::size_t side) {
    add(name + ".weight", in * out * side * side, out);
    add(name + ".bn.weight", out);
    add(name + ".bn.bias", out);
  }

  void linear(const std::string& name, std::size_t in, std::size_t out) {
    add(name + ".weight", in * out, out);
    add(name + ".bias", out);
  }

  void norm(const std::string& name, std::size_t width) {
    add(name + ".weight", width);
    add(name + ".bias", width);
  }

  std::vector<ModelGradient> take() && { return std::move(gradients_); }

 private:
  std::vector<ModelGradient> gradients_;
};

}  // namespace

std::vector<ModelGradient> resnet50() {
  constexpr std::size_t kBlocks[] = {3, 4, 6, 3};
  Layers model;
  model.convolution("conv1", 3, 64, 7);
  std::size_t in = 64;
  std::size_t width = 64;
  for (std::size_t stage = 0; stage < 4; ++stage, width *= 2) {
    for (std::size_t block = 0; block < kBlocks[stage]; ++block) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
      model.convolution(name + ".conv1", in, width, 1);
      model.convolution(name + ".conv2", width, width, 3);
      model.convolution(name + ".conv3", width, 4 * width, 1);
      if (block == 0) model.convolution(name + ".downsample", in, 4 * width, 1);
      in = 4 * width;
    }
  }
  model.linear("fc", in, 1000);
  return std::move(model).take();
}

std::vector<ModelGradient> bert_large() {
  constexpr std::size_t kWidth = 1024;
  constexpr std::size_t kWords = 30522;
  Layers model;
  model.add("embeddings.word", kWords * kWidth, kWords);
  model.add("embeddings.position", 512 * kWidth, 512);
  model.add("embeddings.type", 2 * kWidth);
  model.norm("embeddings.norm", kWidth);
  for (int layer = 0; layer < 24; ++layer) {
    const std::string name = "layer." + std::to_string(layer);
    for (const char* part : {".query", ".key", ".value", ".attention.output"})
      model.linear(name + part, kWidth, kWidth);
    model.norm(name + ".attention.norm", kWidth);
    model.linear(name + ".intermediate", kWidth, 4 * kWidth);
    model.linear(name + ".output", 4 * kWidth, kWidth);
    model.norm(name + ".norm", kWidth);
  }
  model.linear("pooler", kWidth, kWidth);
  model.linear("head.transform", kWidth, kWidth);
  model.norm("head.norm", kWidth);
  model.add("head.bias", kWords);
  model.linear("next_sentence", kWidth, 2);
  return std::move(model).take();
}

}  // namespace fastgpu::comm::bench
