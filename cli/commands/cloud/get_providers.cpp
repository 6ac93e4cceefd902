#include "cli/commands/commands.hpp"
#include "cli/program/context.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {

Action make_get_providers_command(Arguments& arguments) {
  arguments.offer_table();
  return [](Context& context) {
    View view;
    view.root = document("providers");
    view.root["providers"] = Json::array();
    view.table.columns = {{"PROVIDER"}, {"PRICE"}, {"DESCRIPTION", false, Fit::prose}};
    for (const provision::ProviderInfo& info : provision::provider_table()) {
      view.names.emplace_back(info.name);
      const char* const price = info.is_cloud ? "get prices" : "0/h";
      view.table.rows.push_back({std::string(info.name), price, std::string(info.description)});
      Json item;
      item["name"] = info.name;
      item["description"] = info.description;
      item["is_cloud"] = info.is_cloud;
      item["price_per_hour"] = info.is_cloud ? Json() : Json(0);
      view.root["providers"].push_back(std::move(item));
    }
    context.ui().show(view);
    return 0;
  };
}

}  // namespace fastgpu::cli
