// The machine and C library of this node, and programs run on it to their end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/environments/call.hpp"
#include "agent/protocol/environment.hpp"
#include "process/command.hpp"

namespace fastgpu::agent {

std::string machine_name();  ///< "x86_64"
std::string libc_name();     ///< "glibc 2.36"; empty if unknown.

/// Returns "3.11.2". Throws remote if it is not a Python.
std::string python_version(const std::string& interpreter);

/// Returns our environment without the variables that change the behaviour of builders and Pythons.
std::vector<std::string> plain_environment();
/// Returns such an environment for a builder: with its proxy, if the choice names one.
std::vector<std::string> builder_environment(const BuilderChoice& choice);

struct Program {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string input{};
  process::Orphaned orphaned = process::Orphaned::lives_on;
};

/// Returns the output of a program that must succeed. Throws interrupted if the client has gone.
/// Otherwise, with the program's output: timeout if it waited in vain, capacity for a full disk,
/// remote.
std::string output_of(const Program& program, const Listener& listener);

/// Copies the content of one directory into another that exists, replacing files; links stay links.
/// Throws as output_of.
void copy_tree(const std::filesystem::path& from, const std::filesystem::path& to,
               const Listener& listener);

}  // namespace fastgpu::agent
