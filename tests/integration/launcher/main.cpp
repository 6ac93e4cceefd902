// Skipped, as 77, where there is no mpirun.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"
#include "process/command.hpp"

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);  // A command may end before it has read its input.
  try {
    const char* path = std::getenv("PATH");
    fastgpu::process::find_program("mpirun", path != nullptr ? path : "/usr/bin");
  } catch (const fastgpu::Error& e) {
    std::printf("skipped: %s\n", e.what());
    return 77;
  }
  return doctest::Context(argc, argv).run();
}
