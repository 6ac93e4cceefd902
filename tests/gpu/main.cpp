// Skips everything where there is no GPU to try it on.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "comm/gpu/memory.hpp"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  if (fastgpu::comm::gpu::device_count() == 0) return kSkipped;
  return doctest::Context(argc, argv).run();
}
