#include "fashion.hpp"

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace fashion {
namespace {

namespace fs = std::filesystem;

constexpr float kBrightest = 255;
constexpr std::size_t kMostBytes = 64 << 20;

fs::path find(const fs::path& folder, const std::string& name) {
  std::error_code error;
  for (const char* const suffix : {".gz", ""}) {
    fs::path file = folder / (name + suffix);
    if (fs::exists(file, error)) return file;
  }
  throw std::runtime_error("there is no " + (folder / name).string() +
                           ".gz: install the package dataset-fashion-mnist (Debian, Ubuntu), or "
                           "name the folder of the four files by --data");
}

training::Dataset load(const fs::path& folder, const std::string& part) {
  const fs::path images = find(folder, part + "-images-idx3-ubyte");
  const fs::path labels = find(folder, part + "-labels-idx1-ubyte");
  const auto image_bytes = read_gzip(images, kMostBytes);
  const auto label_bytes = read_gzip(labels, kMostBytes);
  return dataset_of(decode_idx(image_bytes, 3, images.string()),
                    decode_idx(label_bytes, 1, labels.string()), images.string());
}

}  // namespace

const char* const kDefaultFolder = "/usr/share/datasets/fashion-mnist";

training::Dataset dataset_of(const Idx& images, const Idx& labels, const std::string& name) {
  if (images.lengths[1] != kSide || images.lengths[2] != kSide)
    throw std::runtime_error(name + ": images of " + std::to_string(images.lengths[1]) + " by " +
                             std::to_string(images.lengths[2]) + ", not 28 by 28");
  if (images.lengths[0] != labels.lengths[0] || images.lengths[0] == 0)
    throw std::runtime_error(name + ": " + std::to_string(images.lengths[0]) + " images, and " +
                             std::to_string(labels.lengths[0]) + " labels");
  for (const std::uint8_t label : labels.values)
    if (label >= training::kClasses)
      throw std::runtime_error(name + ": there is no class " + std::to_string(label));
  return {.width = kSide * kSide,
          .brightest = kBrightest,
          .pixels = {images.values.begin(), images.values.end()},
          .classes = {labels.values.begin(), labels.values.end()}};
}

training::Split load_fashion(const fs::path& folder) {
  return {load(folder, "train"), load(folder, "t10k")};
}

}  // namespace fashion
