// The question before a payment or a deletion. No other code asks one.
#pragma once

#include <string_view>

#include "cli/program/arguments.hpp"
#include "cli/program/automation.hpp"
#include "cli/program/context.hpp"

namespace fastgpu::cli {

/// Adds --yes.
void describe_consent(Arguments& arguments, bool& yes);

/// Returns true if the user has agreed beforehand, by --yes (`yes`) or by the setting "yes".
bool has_consent(Context& context, bool yes);

/// Returns true if the user agrees: by --yes (`yes`), by the setting "yes", or by the answer to
/// `question`. Throws ErrorKind::usage without a terminal to ask at, and if
/// FASTGPU_IN_AUTOMATION forbids questions.
bool consents(Context& context, bool yes, std::string_view question);

}  // namespace fastgpu::cli
