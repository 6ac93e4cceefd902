// The gradients of models, by length, in the order of their layers.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::comm::bench {

struct ModelGradient {
  std::string name;
  std::size_t elements = 0;
  std::size_t rows =
      0;  ///< The rows of a matrix, from which `powersgd` makes factors; 0: a vector.
};

/// Returns 161 gradients with 25,557,032 elements: convolutions, batch normalisations and the
/// classifier.
std::vector<ModelGradient> resnet50();

/// Returns the encoder of BERT-large with embeddings, pooler and the two heads of its pre-training.
std::vector<ModelGradient> bert_large();

inline constexpr std::array<std::string_view, 2> kModels = {"resnet50", "bert-large"};

struct Model {
  std::string name;  ///< The model's name; a file's without its folders.
  std::vector<ModelGradient> gradients;
};

bool is_known_model(std::string_view word) noexcept;  ///< Returns true for one of kModels.

/// Returns one of kModels, or else reads a file. Throws ErrorKind::not_found if it is neither, and
/// as parse_model for the file's content.
Model find_model(const std::string& word);

/// Parses lines of `name elements`; empty lines and those that begin with # are ignored. Throws
/// ErrorKind::usage, naming `file`, the line and the value met, for anything else, for a repeated
/// name, and for more than a model can have.
std::vector<ModelGradient> parse_model(std::string_view text, const std::string& file);

}  // namespace fastgpu::comm::bench
