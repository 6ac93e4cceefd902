// The output of commands under --dry-run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/program/arguments.hpp"
#include "cli/ui/ui.hpp"

namespace fastgpu::cli {

/// Adds --dry-run.
void describe_dry_run(Arguments& arguments, bool& dry_run);

/// Shows the steps that the command would take, and that nothing was done. The document is
/// {"command": "delete cluster", "subject": "demo", "steps": [...]}. Returns the exit code.
int show_dry_run(Ui& ui, std::string_view command, std::string_view subject,
                 const std::vector<std::string>& steps);

}  // namespace fastgpu::cli
