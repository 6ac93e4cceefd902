// The software for nodes with GPUs: driver, CUDA, their companions, and their sources.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envs/facts/facts.hpp"
#include "envs/matrix/matrix.hpp"

namespace fastgpu::envs {

enum class PackageSource : std::uint8_t {
  vendor,        ///< NVIDIA's repositories.
  distribution,  ///< Debian's and Ubuntu's own.
};

/// A key that signs a repository, identified by its fingerprint.
struct PinnedKey {
  std::string fingerprint{};
  std::string file{};  ///< The name beside the packages.
  std::string text{};  ///< Armoured; empty until it has been fetched.
};

/// An archive with an installer, identified by its hash.
struct PinnedArchive {
  std::string version;
  std::string url;
  std::string sha256;
};

struct Recipe {
  std::string driver{};  ///< "580", "580.95.05"; empty: the installed one, or one that fits.
  std::string cuda{};    ///< "13.0"; empty: no toolkit.
  std::string cudnn{};   ///< "9"; empty: no cuDNN.
  PackageSource source = PackageSource::vendor;
  std::string mirror = "https://developer.download.nvidia.com/compute/cuda/repos";
  PinnedKey apt_key{.fingerprint = "EB693B3035CD5710E231E123A4B469963BF863CC",
                    .file = "3bf863cc.pub"};
  PinnedKey dnf_key{.fingerprint = "610C7B14E068A878070DA4E99CD0A493D42D0685",
                    .file = "D42D0685.pub"};
  PinnedArchive efa{.version = "1.41.0",
                    .url = "https://efa-installer.amazonaws.com/aws-efa-installer-1.41.0.tar.gz",
                    .sha256 = "3506354cdfbe31ff552fe75f5d0d9bb7efd29cf79bd99457347d29c751c38f9f"};
  PinnedArchive erdma{.version = "1.5.7",
                      .url = "http://mirrors.cloud.aliyuncs.com/erdma/erdma_installer-1.5.7.tar.gz",
                      .sha256 = "cb44f4c4aaaabfbd81224c85a9e7889732bda26cc832ff70ecc0559bcc14165c"};
};

/// Reads and checks the user's recipe against the matrix alone: versions are well-formed, the
/// driver supports that CUDA, cuDNN is made for it. Throws ErrorKind::usage with the alternatives.
void check_recipe(const Recipe& recipe, const Matrix& matrix);

/// Returns the folder of NVIDIA's repository for that system below the mirror: "debian12/x86_64".
/// Throws ErrorKind::usage, naming the systems that have one.
std::string repository_folder(const NodeFacts& facts);

/// Returns the packages to query in the node's repositories (see envs::probe).
std::vector<std::string> packages_of_interest(const Recipe& recipe, const Matrix& matrix);

/// Returns the driver's branch for a node: the recipe's, else the node's, else the oldest
/// maintained one that supports the GPUs and the recipe's CUDA. Throws usage.
int choose_branch(const Recipe& recipe, const NodeFacts& facts, const Matrix& matrix);

/// Returns the facts with `count` GPUs of that model in place of the real ones, for a plan to look
/// at. Examples: "L40S:8", "L40S", "Ascend:8", with any text behind the word Ascend. The driver, or
/// CANN, and its companions count as not installed. Throws ErrorKind::usage.
NodeFacts with_assumed_gpus(NodeFacts facts, std::string_view text, const Matrix& matrix);

/// Returns the version without the distribution's part: "580.95.05" of "580.95.05-0ubuntu1".
std::string upstream_version(std::string_view version);

}  // namespace fastgpu::envs
