#include <algorithm>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_tools.hpp"

namespace fastgpu::cli {
namespace {

struct EnvVerifyOptions {
  EnvTarget target;
  std::string name;
};

using Answers = std::vector<HostResult<agent::Records>>;

int verify(Context& context, const EnvVerifyOptions& options) {
  EnvCluster cluster(context, options.target);
  const Answers answers = cluster.call({"env-verify", cluster.find(options.name), options.name});
  View view;
  view.root = document("environment-check");
  view.root["name"] = options.name;
  view.root["nodes"] = Json::array();
  view.table.columns = {{"NODE"}, {"FILES"}, {"RESULT"}};
  int code = report(context, answers);
  std::string manifest;
  for (const auto& answer : answers) {
    if (!answer.ok()) continue;
    auto found = agent::parse_verify_answer(answer.value());
    if (manifest.empty()) manifest = found.manifest;
    if (found.manifest != manifest)
      found.damaged.emplace_back("another build than on the first node");
    const bool good = found.damaged.empty();
    if (!good) code = std::max(code, 1);
    view.names.push_back(answer.host.value);
    view.table.rows.push_back(
        {answer.host.value, std::to_string(found.files),
         good ? Cell("ok", Color::green) : Cell(found.damaged.front(), Color::red)});
    view.root["nodes"].push_back({{"name", answer.host.value},
                                  {"files", found.files},
                                  {"manifest", found.manifest},
                                  {"damaged", found.damaged}});
  }
  context.ui().show(view);
  return code;
}

}  // namespace

Action make_env_verify_command(Arguments& arguments) {
  auto options = std::make_shared<EnvVerifyOptions>();
  describe_named_environment(arguments, options->name, options->target);
  return [options](Context& context) { return verify(context, *options); };
}

}  // namespace fastgpu::cli
