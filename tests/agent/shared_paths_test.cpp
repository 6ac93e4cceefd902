// Files that several packages of a build have.
#include "agent/environments/shared_paths.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "support/temp_directory.hpp"

using namespace fastgpu;
using namespace fastgpu::agent;

namespace {

const std::filesystem::path kPackages = "lib/python3.11/site-packages";

void install(const std::filesystem::path& version, const std::string& info,
             const std::string& record) {
  std::filesystem::create_directories(version / kPackages / info);
  std::ofstream(version / kPackages / info / "RECORD") << record;
}

}  // namespace

TEST_CASE("paths that packages have with different content are found, by path and package") {
  const test::TempDirectory place;
  install(place.path(), "b_pkg-1.dist-info",
          "same.py,sha256=s,1\ncv2/x.py,sha256=b,1\n../../../bin/tool,sha256=b,1\n"
          "b_pkg-1.dist-info/RECORD,,\nb.py,sha256=b,1\n");
  install(place.path(), "A.pkg-2.dist-info",
          "same.py,sha256=s,1\ncv2/x.py,sha256=a,1\n../../../bin/tool,sha256=a,1\n"
          "A.pkg-2.dist-info/RECORD,,\n");
  install(place.path(), "c-3.dist-info", "cv2/x.py,sha256=a,1\nunsummed.py,,\n");
  install(place.path(), "d-3.dist-info", "unsummed.py,,\n");
  install(place.path(), "broken-1.dist-info", "no record");

  const auto shared = shared_paths(place.path(), kPackages);
  REQUIRE(shared.size() == 2);
  CHECK(shared[0].path == "bin/tool");
  CHECK(shared[0].packages == std::vector<std::string>{"a-pkg", "b-pkg"});
  CHECK(shared[1].path == "lib/python3.11/site-packages/cv2/x.py");
  CHECK(shared[1].packages == std::vector<std::string>{"a-pkg", "b-pkg", "c"});
  CHECK(owners_of(shared) == std::vector<std::string>{"a-pkg", "b-pkg", "c"});
  CHECK(modules_of(place.path(), kPackages, {"b-pkg"}) ==
        std::vector<std::string>{"lib/python3.11/site-packages/b.py",
                                 "lib/python3.11/site-packages/cv2/x.py",
                                 "lib/python3.11/site-packages/same.py"});
  CHECK(
      describe(shared) ==
      std::vector<std::string>{
          "packages a-pkg and b-pkg have a file in common with different content (bin/tool): that "
          "of b-pkg is used",
          "packages a-pkg and b-pkg and c have a file in common with different content "
          "(lib/python3.11/site-packages/cv2/x.py): that of c is used"});
  CHECK(shared_paths(place.path() / "nowhere", kPackages).empty());
}
