// What is true on this node (machine, C library), and programs run on it to their end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/environments/call.hpp"
#include "agent/protocol/environment.hpp"
#include "process/command.hpp"

namespace fastgpu::agent {

std::string machine_name();  ///< "x86_64"
std::string libc_name();     ///< "glibc 2.36"; empty where it cannot be told.

/// "3.11.2". Throws remote where it is no Python.
std::string python_version(const std::string& interpreter);

/// Our environment without what would change what builders and Pythons do.
std::vector<std::string> plain_environment();
/// The same for a builder: with the proxy that it is to fetch by, where the choice names one.
std::vector<std::string> builder_environment(const BuilderChoice& choice);

struct Program {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string input{};
  process::Orphaned orphaned = process::Orphaned::lives_on;
};

/// The output of a program that must succeed. Throws interrupted where the listener has gone; else
/// with what it said timeout where it waited in vain, capacity for a full disk, remote.
std::string output_of(const Program& program, const Listener& listener);

/// Copies what is in one directory into another that exists, over what is there; links stay links.
/// Throws as output_of.
void copy_tree(const std::filesystem::path& from, const std::filesystem::path& to,
               const Listener& listener);

}  // namespace fastgpu::agent
