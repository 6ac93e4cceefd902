#include "cli/commands/cloud/region_rows.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/offer_views.hpp"

namespace fastgpu::cli {

Action make_get_prices_command(Arguments& arguments) {
  const auto options = describe_shopping(arguments);
  return [options](Context& context) {
    context.ui().show(view_of_offers(offers_for(context, *options)));
    return 0;
  };
}

}  // namespace fastgpu::cli
