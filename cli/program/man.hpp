// Manual pages, generated from the table of commands.
#pragma once

#include <span>
#include <string>

#include "cli/program/arguments.hpp"
#include "cli/program/command.hpp"

namespace fastgpu::cli {

/// Returns the page's name without its section: "fastgpu-create-cluster".
std::string man_name(const CliCommand& command);

std::string man_page_for_all(std::span<const CliCommand> table);
std::string man_page(const CliCommand& command, const Arguments& arguments);

}  // namespace fastgpu::cli
