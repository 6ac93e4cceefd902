// The common parts of the measuring programs: words in, lines of JSON out, errors as exit codes.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "comm/bench/bench_settings.hpp"
#include "comm/bench/measure.hpp"
#include "comm/bench/models.hpp"

namespace fastgpu::comm::bench {

/// Reads the words of `main` and calls `body` with their settings; prints the help or the model if
/// that is the request. Returns the exit code: 0, 1, 2 for a wrong request or 5 for an unknown
/// model, after a sentence on stderr.
int run_program(const BenchProgram& program, std::span<char* const> words,
                const std::function<void(const BenchSettings&)>& body);

/// Prints one line on stdout, at once.
void print_result(const BenchResult& result);

/// Prints a sentence of the library on stderr.
void print_warning(const std::string& sentence);

/// Throws ErrorKind::usage if `settings` ask for a feature of our own library alone.
void refuse_ours(const BenchProgram& program, const BenchSettings& settings);

}  // namespace fastgpu::comm::bench
