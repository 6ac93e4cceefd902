#include "envs/drivers/fetch_keys.hpp"

#include "envs/drivers/pgp_key.hpp"

namespace fastgpu::envs {

void fetch_keys(Recipe& recipe, std::span<const NodeFacts> facts, http::Client& client,
                const Cancel& cancel) {
  if (recipe.source != PackageSource::vendor) return;
  for (const NodeFacts& node : facts) {
    PinnedKey& key = node.packages == Packages::apt ? recipe.apt_key : recipe.dnf_key;
    if (!key.text.empty()) continue;
    const std::string url = recipe.mirror + "/" + repository_folder(node) + "/" + key.file;
    const http::Response response =
        client.send({.url = url, .largest_answer = std::size_t{1} << 20U}, cancel);
    if (response.status != 200)
      throw Error(
          response.status >= 500 ? ErrorKind::transient : ErrorKind::remote,
          "fetching the repository's key " + url + ": HTTP " + std::to_string(response.status));
    key.text = pinned_key(response.body, key.fingerprint, url);
  }
}

}  // namespace fastgpu::envs
