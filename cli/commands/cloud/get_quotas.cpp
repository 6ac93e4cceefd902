#include "cli/commands/cloud/region_rows.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/offer_views.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

int show_quotas(Context& context, const CloudOptions& options) {
  const auto rows = rows_of(context, options, [&](const CloudPlace& place) {
    std::vector<Row> found;
    for (const auto& quota : place.cloud->quotas(place.region, context.cancel()))
      found.push_back(
          {{std::string(place.cloud->name()), place.region, quota.name, number_text(quota.limit),
            quota.used ? number_text(*quota.used) : "?", quota.unit,
            std::string(provision::provider_info(place.cloud->name()).quota_page)},
           {{"cloud", place.cloud->name()},
            {"region", place.region},
            {"name", quota.name},
            {"limit", quota.limit},
            {"used", quota.used ? Json(*quota.used) : Json()},
            {"unit", quota.unit},
            {"raised_at", provision::provider_info(place.cloud->name()).quota_page}},
           quota.name});
    return found;
  });
  show_rows(context, "quotas",
            {{"CLOUD"},
             {"REGION"},
             {"QUOTA", false, Fit::prose},
             {"LIMIT"},
             {"USED"},
             {"UNIT", false, Fit::optional},
             {"INCREASE AT"}},
            rows);
  return 0;
}

}  // namespace

Action make_get_quotas_command(Arguments& arguments) {
  const auto options = describe_looking(arguments);
  return [options](Context& context) { return show_quotas(context, *options); };
}

}  // namespace fastgpu::cli
