#include "cli/commands/commands.hpp"
#include "cli/context.hpp"

namespace fastgpu::cli {

Action describe_version(Arguments&) {
  return [](Context& context) {
    View view;
    view.root = document("version");
    view.root["version"] = FASTGPU_VERSION;
    view.names = {FASTGPU_VERSION};
    if (context.ui().for_people())
      context.ui().data("fastgpu " FASTGPU_VERSION "\n");
    else
      context.ui().show(view);
    return 0;
  };
}

}  // namespace fastgpu::cli
