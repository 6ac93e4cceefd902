// What the measuring programs have in common: words in, lines of JSON out, errors as exit codes.
#pragma once

#include <functional>
#include <span>

#include "comm/bench/measure.hpp"
#include "comm/bench/models.hpp"
#include "comm/bench/settings.hpp"

namespace fastgpu::comm::bench {

/// Reads the words of `main` and calls `body` with what they say; prints the help or the model
/// where that is all. Returns the exit code: 0, 1, 2 for a wrong request or 5 for a model that is
/// not there, after a sentence on stderr.
int run_program(const Program& program, std::span<char* const> words,
                const std::function<void(const Settings&)>& body);

/// One line on stdout, at once.
void print_result(const Result& result);

/// Throws ErrorKind::usage where `settings` ask for what only our own library has.
void refuse_ours(const Program& program, const Settings& settings);

}  // namespace fastgpu::comm::bench
