#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <unistd.h>

#include <iostream>

// libssh2 1.10 forgets the old host key, 51 bytes, at each change of keys.
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "leak:libssh2.so";
}

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  if (::access("/usr/sbin/sshd", X_OK) != 0) {
    std::cerr << "skipped: no sshd here\n";
    return kSkipped;
  }
  return doctest::Context(argc, argv).run();
}
