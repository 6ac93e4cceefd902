// Stands in for doctest on machines with a GPU that have no package of it and no network: as much
// of it as the tests of this folder use.
#pragma once

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace doctest {

struct Case {
  const char* name;
  void (*run)();
};

struct Abandoned : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Run {
  std::vector<Case> cases{};
  std::vector<std::string> captured{};
  int failures = 0;

  static Run& current() {
    static Run run;
    return run;
  }

  void failed(const char* file, int line, const std::string& what) {
    if (++failures > 50) return;  // The rest would be more of the same.
    std::cerr << file << ':' << line << ": " << what << '\n';
    for (const std::string& text : captured)
      std::cerr << "  with " << text << '\n';
  }
};

struct Registration {
  Registration(const char* name, void (*run)()) { Run::current().cases.push_back({name, run}); }
};

struct Capture {
  explicit Capture(const std::string& value) { Run::current().captured.push_back(value); }
  explicit Capture(double value) : Capture(std::to_string(value)) {}
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() { Run::current().captured.pop_back(); }
};

class Context {
 public:
  Context(int, char**) {}

  int run() {
    Run& all = Run::current();
    for (const Case& one : all.cases) {
      std::cerr << one.name << '\n';
      try {
        one.run();
      } catch (const std::exception& e) {
        all.failed("test case", 0, e.what());
      }
    }
    std::cerr << all.cases.size() << " test cases, " << all.failures << " failures\n";
    return all.failures == 0 ? 0 : 1;
  }
};

}  // namespace doctest

#define DOCTEST_JOIN_AGAIN(a, b) a##b
#define DOCTEST_JOIN(a, b) DOCTEST_JOIN_AGAIN(a, b)
#define DOCTEST_CASE(function, name)                                                        \
  static void function();                                                                   \
  static const ::doctest::Registration DOCTEST_JOIN(function, _registered)(name, function); \
  static void function()
#define TEST_CASE(name) DOCTEST_CASE(DOCTEST_JOIN(test_case_, __LINE__), name)
#define TEST_SUITE_BEGIN(name) static_assert(true)
#define TEST_SUITE_END() static_assert(true)
#define CAPTURE(value) const ::doctest::Capture DOCTEST_JOIN(captured_, __LINE__)(value)
#define CHECK(...)                \
  (static_cast<bool>(__VA_ARGS__) \
       ? void()                   \
       : ::doctest::Run::current().failed(__FILE__, __LINE__, #__VA_ARGS__))
#define FAIL(what) throw ::doctest::Abandoned(what)
#define REQUIRE(...) \
  (static_cast<bool>(__VA_ARGS__) ? void() : throw ::doctest::Abandoned(#__VA_ARGS__))
#define CHECK_NOTHROW(...) static_cast<void>(__VA_ARGS__)

#ifdef DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
int main(int argc, char** argv) {
  return doctest::Context(argc, argv).run();
}
#endif
