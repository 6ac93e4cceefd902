// Facts about this node for builds, and programs that are run to their end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/environments/environment_call.hpp"
#include "agent/protocol/environment.hpp"
#include "process/command.hpp"

namespace fastgpu::agent {

std::string machine_name();  ///< "x86_64"
std::string libc_name();     ///< "glibc 2.36"; empty if unknown.

/// Returns the version of a Python interpreter: "3.11.2". Throws remote if the program is not a
/// Python.
std::string python_version(const std::string& interpreter);

/// Returns our environment without the variables that change the behaviour of builders and Pythons.
std::vector<std::string> plain_environment();
/// Returns such an environment for a builder, with a proxy if the choice has one.
std::vector<std::string> builder_environment(const BuilderChoice& choice);

struct BuilderProgram {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string input{};
  process::OnParentDeath on_parent_death = process::OnParentDeath::live_on;
  std::string name{};  ///< The name in errors; empty: that of the program's file.
};

/// Runs a program that must succeed, and returns its output. Throws interrupted if the client has
/// gone. A failure of the program throws, with its output, timeout if it waited in vain, capacity
/// for a full disk, else remote.
std::string output_of(const BuilderProgram& program, const Listener& listener);

/// Copies the content of one directory into another existing one. Replaces files and keeps links as
/// links. Throws as output_of().
void copy_tree(const std::filesystem::path& from, const std::filesystem::path& to,
               const Listener& listener);

}  // namespace fastgpu::agent
