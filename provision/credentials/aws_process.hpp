// A program of the user's that prints keys: AWS's credential_process.
#pragma once

#include <string>
#include <vector>

#include "provision/credentials/search.hpp"

namespace fastgpu::provision::credentials {

/// Splits a command into words, at white space outside quotes and backslashes. No shell is
/// involved, so that no other character is special. Throws usage, naming `source`, for a quote that
/// does not end.
std::vector<std::string> split_words(const std::string& command, const std::string& source);

/// Runs the command and reads its output. Throws denied if it fails; its output is never repeated,
/// because it may be secret.
Credentials run_credential_process(const Search& search, const std::string& command,
                                   const std::string& source);

}  // namespace fastgpu::provision::credentials
