#include "agent/guard/guard_unit.hpp"

namespace fastgpu::agent {
namespace {

/// Returns the text as one word of a unit, in which systemd replaces %h and similar specifiers.
std::string unit_word(std::string_view text) {
  std::string word = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') word += '\\';
    if (c == '%') word += '%';
    word += c;
  }
  return word + "\"";
}

}  // namespace

std::string guard_unit(std::string_view home, std::string_view program) {
  return "[Unit]\nDescription=Ends this machine when its time has come\n\n[Service]\nEnvironment=" +
         unit_word("HOME=" + std::string(home)) + "\nExecStart=" + unit_word(program) +
         " guard-run\nRestart=always\nRestartSec=10\nOOMScoreAdjust=-1000\n\n"
         "[Install]\nWantedBy=multi-user.target\n";
}

}  // namespace fastgpu::agent
