// Manual pages, made from the table of commands like the help texts.
#pragma once

#include <span>
#include <string>

#include "cli/program/arguments.hpp"
#include "cli/program/command.hpp"

namespace fastgpu::cli {

/// Returns "fastgpu-create-cluster", the page's name without its section.
std::string man_name(const Command& command);

std::string man_page_for_all(std::span<const Command> table);
std::string man_page(const Command& command, const Arguments& arguments);

}  // namespace fastgpu::cli
