#include "cli/consent.hpp"

#include "base/error.hpp"
#include "base/literals.hpp"

namespace fastgpu::cli {
namespace {

constexpr const char* kAutomation = "FASTGPU_IN_AUTOMATION";

}  // namespace

bool is_automated(const state::Environment& environment) {
  const std::string text = environment(kAutomation).value_or("");
  try {
    return !text.empty() && parse_boolean(text);
  } catch (const Error& e) {
    throw e.during(std::string("the environment variable ") + kAutomation);
  }
}

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
                std::string(question) + " " + kAutomation + " is set: give --yes to go ahead");
  return context.ui().confirm(question);
}

}  // namespace fastgpu::cli
