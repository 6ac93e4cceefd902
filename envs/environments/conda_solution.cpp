#include "envs/environments/conda_solution.hpp"

#include "base/json.hpp"

namespace fastgpu::envs {

std::vector<Artefact> read_conda_solution(const std::string& text) {
  std::vector<Artefact> artefacts;
  const auto root = parse_json(text, "the solution of py-rattler");
  for (const nlohmann::json& entry : root)
    artefacts.push_back({.package = field<std::string>(entry, "package"),
                         .version = field<std::string>(entry, "version"),
                         .url = field<std::string>(entry, "url"),
                         .sha256 = field<std::string>(entry, "sha256"),
                         .record = field<std::string>(entry, "record")});
  return artefacts;
}

std::string write_conda_solution(const std::vector<Artefact>& artefacts) {
  auto root = nlohmann::json::array();
  for (const Artefact& artefact : artefacts)
    root.push_back({{"package", artefact.package},
                    {"version", artefact.version},
                    {"url", artefact.url},
                    {"sha256", artefact.sha256},
                    {"record", artefact.record}});
  return root.dump();
}

}  // namespace fastgpu::envs
