// Skipped, as 77, where there is no mpirun, or (for nodes of namespaces) where we are not root.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

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
#ifdef FASTGPU_TEST_NEEDS_ROOT
  if (::geteuid() != 0) {
    std::puts("skipped: making nodes of namespaces needs root here");
    return 77;
  }
#endif
  return doctest::Context(argc, argv).run();
}
