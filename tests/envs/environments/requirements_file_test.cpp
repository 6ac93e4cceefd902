#include "envs/environments/requirements_file.hpp"

#include <doctest/doctest.h>

#include <map>

#include "envs/environments/spec.hpp"
#include "support/failure.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;

const std::string kSum(64, 'a');

RequirementsFile read(const std::map<std::string, std::string>& files) {
  const ReadFile reader = [&](const std::filesystem::path& file) -> std::optional<std::string> {
    const auto found = files.find(file.string());
    return found == files.end() ? std::nullopt : std::optional(found->second);
  };
  return read_requirements("dir/r.txt", reader);
}

TEST_SUITE_BEGIN("envs/requirements_file");

TEST_CASE("a path of a wheel begins at the file that names it") {
  const auto got =
      read({{"dir/r.txt", "./a-1-py3-none-any.whl\n-r more/base.txt\n"},
            {"dir/more/base.txt", "../b-1-py3-none-any.whl --hash=sha256:" + kSum +
                                      "\nw/c-1-py3-none-any.whl[x] ; sys_platform == 'linux'\n"}});
  CHECK(got.packages == std::vector<std::string>{
                            "./a-1-py3-none-any.whl",
                            "b @ file:b-1-py3-none-any.whl --hash=sha256:" + kSum,
                            "c[x] @ file:more/w/c-1-py3-none-any.whl ; sys_platform == 'linux'"});
}

TEST_CASE("a file as pip's tools write it is read, with the files that it names") {
  const auto got =
      read({{"dir/r.txt", "# made by pip-compile\n\nnumpy==2.2.6 \\\n    --hash=sha256:" + kSum +
                              " \\\n    --hash=sha256:" + kSum +
                              "\n    # via pandas\n"
                              "pandas>=2  # the table\r\n"
                              "six ; python_version < '3'\n-r more/base.txt\n"
                              "-i https://joe:pw@i.example/simple\n"
                              "--extra-index-url=https://e.example/simple"},
            {"dir/more/base.txt", "uvicorn[standard]~=0.30"}});
  CHECK(got.packages == std::vector<std::string>{
                            "numpy==2.2.6     --hash=sha256:" + kSum + "     --hash=sha256:" + kSum,
                            "pandas>=2", "six ; python_version < '3'", "uvicorn[standard]~=0.30"});
  const auto spec =
      read_environment_spec(config::Document::parse(to_yaml(got, "packages"), "r.txt").root());
  CHECK(spec.packages == got.packages);
  CHECK(spec.index ==
        std::vector<std::string>{"https://i.example/simple", "https://e.example/simple"});
}

TEST_CASE("a file with a byte order mark is read") {
  const auto got = read({{"dir/r.txt", "\xef\xbb\xbfnumpy==2.2.6\r\n-r base.txt\r\n"},
                         {"dir/base.txt", "\xef\xbb\xbf# base\r\nsix\r\n"}});
  CHECK(got.packages == std::vector<std::string>{"numpy==2.2.6", "six"});
}

TEST_CASE("an extra index comes after the usual one") {
  const auto got = read({{"dir/r.txt", "--extra-index-url https://e.example/simple\na\n"}});
  REQUIRE(got.index.size() == 2);
  CHECK(got.index[0].reveal() == "https://pypi.org/simple");
  CHECK(read({{"dir/r.txt", "a\n"}}).index.empty());
}

TEST_CASE("what cannot be part of an environment is refused with its file and line") {
  struct Row {
    std::string line;
    std::string wanted;
  };
  for (const Row& row : {Row{"-e .", "'-e .' is not supported here"},
                         {"--no-binary :all:", "is not supported here"},
                         {"-c constraints.txt", "is not supported here"},
                         {"--require-hashes", "is not supported here"},
                         {"--find-links https://joe:s3cret@h/", "https://****@h/"},
                         {"git+https://github.com/x/y", "is not a package of an index"},
                         {"x @ git+ssh://git@h/x", "is not a package of an index"},
                         {"https://h/x.whl", "is not a package of an index"},
                         {"./local.whl", "is not a wheel"},
                         {"./dist", "is not a wheel"},
                         {"x --pre", "'--pre'"},
                         {"x --hash=md5:1", "cannot be checked"},
                         {"x @ https://joe:s3cret@h/x.whl", "has a password"}}) {
    CAPTURE(row.line);
    const auto failure = failure_of([&] { read({{"dir/r.txt", "a\n\n" + row.line + "\n"}}); });
    CHECK(failure.kind() == ErrorKind::usage);
    CHECK(std::string(failure.what()).find("dir/r.txt:3: ") == 0);
    CHECK(test::mentions(failure, row.wanted));
    CHECK(std::string(failure.what()).find("s3cret") == std::string::npos);
  }
  CHECK(test::mentions(failure_of([] {
                         read({{"dir/r.txt", "-r sub.txt\n"}, {"dir/sub.txt", "a\n-e .\n"}});
                       }),
                       "dir/sub.txt:2: "));
  CHECK(failure_of([] { read({{"dir/r.txt", "-r gone.txt\n"}}); }).kind() == ErrorKind::not_found);
  CHECK(test::mentions(failure_of([] {
                         read({{"dir/r.txt", "-r r.txt\n"}});
                       }),
                       "files include each other"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
