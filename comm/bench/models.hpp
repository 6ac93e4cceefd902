// The gradients of well-known models, by length, in the order of their layers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fastgpu::comm::bench {

struct ModelGradient {
  std::string name;
  std::size_t elements = 0;
};

/// 161 gradients, 25,557,032 elements: convolutions, batch normalisations and the classifier.
std::vector<ModelGradient> resnet50();

/// The encoder of BERT-large with embeddings, pooler and the two heads of its pre-training.
std::vector<ModelGradient> bert_large();

}  // namespace fastgpu::comm::bench
