// Flags whose value is parsed later, and checked at once.
#pragma once

#include <string>
#include <utility>

#include "base/error.hpp"
#include "cli/program/arguments.hpp"

namespace fastgpu::cli {

/// Makes `argument` refuse what `parse` refuses; the error names the flag.
template <class Parse>
Argument& checked(Argument& argument, Parse parse) {
  argument.take = [take = std::move(argument.take), &argument, parse](const std::string& text) {
    try {
      parse(text);
    } catch (const Error& e) {
      throw Error(e.kind(), argument.name + " " + e.what());
    }
    take(text);
  };
  return argument;
}

}  // namespace fastgpu::cli
