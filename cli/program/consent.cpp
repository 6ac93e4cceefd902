#include "cli/program/consent.hpp"

#include "base/error.hpp"

namespace fastgpu::cli {
void describe_consent(Arguments& arguments, bool& yes) {
  shared(arguments.flag("--yes", "Answer yes to every question", yes)).letter = "-y";
}

bool has_consent(Context& context, bool yes) {
  return yes || context.settings().boolean("yes");
}

bool consents(Context& context, bool yes, std::string_view question) {
  if (has_consent(context, yes)) return true;
  if (is_automated(context.environment()))
    throw Error(ErrorKind::usage,
                std::string(question) + " " + kInAutomation + " is set: use --yes to proceed");
  return context.ui().confirm(question);
}

}  // namespace fastgpu::cli
