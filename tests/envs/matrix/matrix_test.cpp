#include "envs/matrix/matrix.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/join.hpp"
#include "support/failure.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;

Combination of(const std::string& name) {
  return resolve(builtin_matrix(), parse_environment_name(name));
}

std::string refusal(const std::string& name) {
  return failure_of([&] { of(name); }).what();
}

TEST_SUITE_BEGIN("envs matrix");

TEST_CASE("every set that is known to work resolves") {
  const Matrix matrix = builtin_matrix();
  REQUIRE(matrix.sets.size() >= 7);
  for (const KnownSet& set : matrix.sets) {
    CAPTURE(to_string(set.name));
    CHECK(resolve(matrix, set.name).rows.size() == set.name.frameworks.size());
  }
}

TEST_CASE("the data are whole: dates, drivers in order, every CUDA of a framework known") {
  const Matrix matrix = builtin_matrix();
  CHECK(matrix.date.size() == 10);
  CHECK_FALSE(matrix.source.empty());
  CHECK(std::ranges::is_sorted(matrix.drivers, {}, &DriverBranch::branch));
  for (const FrameworkRow& row : matrix.frameworks) {
    CAPTURE(row.version);
    CHECK_FALSE(row.requirements.empty());
    CHECK_FALSE(row.python.empty());
    CHECK((row.offered || !row.note.empty()));
    if (row.accelerator.platform == Platform::cuda)
      CHECK(find_cuda(matrix, row.accelerator.version).has_value());
    for (const std::string& text : row.requirements)
      CHECK(text.find('{') == std::string::npos);
  }
}

TEST_CASE("the seed's name becomes requirements") {
  const Combination found = of("tf1.15_tr1.4.0_mx1.5.0_cu10.0_py36");
  REQUIRE(found.rows.size() == 3);
  CHECK(found.rows[0].requirements ==
        std::vector<std::string>{"tensorflow-gpu==1.15.5", "protobuf<3.20"});
  CHECK(found.rows[0].sources == std::vector<std::string>{"gast", "termcolor"});
  CHECK(found.rows[1].sources.empty());
  CHECK(found.rows[1].requirements == std::vector<std::string>{"torch==1.4.0+cu100", "numpy<2"});
  CHECK(found.rows[1].index == "https://download.pytorch.org/whl/cu100");
  CHECK(found.rows[2].requirements == std::vector<std::string>{"mxnet-cu100==1.5.0"});
  CHECK(found.cuda->cudnn == std::vector<std::string>{"7"});
}

TEST_CASE("a short version means the newest that it covers") {
  CHECK(of("tr2_cu12.4_py312").rows[0].version == "2.6.0");
}

TEST_CASE("Ascend's name brings torch_npu of that CANN, and the index that it needs on x86_64") {
  const auto rows = of("tr2.8.0_can8.5.0_py311").rows;
  CHECK(rows[0].index == "https://download.pytorch.org/whl/cpu");
  CHECK(rows[0].requirements == std::vector<std::string>{"torch==2.8.0", "torch-npu==2.8.0.post2"});
}

TEST_CASE("what no index has any more is said so, of each framework of a set, and what is near") {
  const Combination found = of("tf1.12_tr1.3.0_mx1.5.0_cu9.0_py36");
  CHECK_FALSE(found.offered());
  REQUIRE(found.losses().size() == 1);
  const auto warnings = found.warnings();
  REQUIRE(warnings.size() == 4);
  CHECK(warnings[0].find("PyTorch 1.3.0 is no longer available: only AIACC-Training") == 0);
  CHECK(warnings[1] == "the nearest available name is tf1.14.0_tr1.3.0_mx1.5.0_cu10.0_py36");
  CHECK(warnings[2].find("CUDA 9.0 is in no package repository") == 0);
  CHECK(warnings[3] ==
        "there is no archive of Python 3.6: it must be on the nodes or come from conda");
}

TEST_CASE("of the sets that worked as a whole all but the one for CUDA 9.0 can be had") {
  const Matrix matrix = builtin_matrix();
  for (const KnownSet& set : matrix.sets) {
    CAPTURE(to_string(set.name));
    CHECK(resolve(matrix, set.name).offered() == (set.name.accelerator.version != "9.0"));
  }
}

TEST_CASE("what is different of a row that can be had is said, too") {
  const Combination found = of("tf2.14_cu11.8_py311");
  CHECK(found.offered());
  REQUIRE(found.warnings().size() == 1);
  CHECK(found.warnings()[0].find("TensorFlow 2.14.1 is without TensorRT") == 0);
  CHECK(of("tf2.14_cu11.8_py310").warnings().empty());
}

TEST_CASE("what cannot be is refused with the reason and the nearest that can") {
  CHECK(refusal("tr2.5.1_cu13.0_py312") ==
        "environment tr2.5.1_cu13.0_py312 is not possible: PyTorch 2.5.1 is available for "
        "can8.1.RC1, "
        "can8.2.RC1, cpu, cu11.8, cu12.1, cu12.4, not for cu13.0; nearest: tr2.5.1_cu12.4_py312, "
        "tr2.9.1_cu13.0_py312, tr2.5.1_cu12.1_py312");
  CHECK(refusal("tr2.5.1_cu12.4_py36")
            .find("is available for Python 3.9, 3.10, 3.11, 3.12, 3.13, not "
                  "for 3.6; nearest: tr2.5.1_cu12.4_py39") != std::string::npos);
  CHECK(refusal("tf9.9_cu12.5_py312").find("TensorFlow 9.9 is unknown; known: 1.12.0, ") !=
        std::string::npos);
}

TEST_CASE("the nearest names resolve themselves, the very nearest first") {
  const Matrix matrix = builtin_matrix();
  const EnvironmentName wanted = parse_environment_name("tf1.15_tr1.4.0_mx1.5.0_cu10.0_py39");
  const auto names = nearest_possible(matrix, wanted, 5);
  REQUIRE(names.size() == 5);
  CHECK(to_string(names[0]) == "tf1.15_tr1.4.0_mx1.5.0_cu10.0_py37");
  for (const EnvironmentName& name : names)
    CHECK(resolve(matrix, name).offered());
}

TEST_CASE("what a name could compute on is what all of its frameworks are made for") {
  const Matrix matrix = builtin_matrix();
  const auto possible = [&](const char* text) {
    std::string words;
    for (const Accelerator& one : possible_accelerators(matrix, parse_wanted_name(text).name))
      append_item(words, to_string(one), " ");
    return words;
  };
  CHECK(possible("tr2.8.0_py311") == "cpu cu12.6 cu12.8 cu12.9 can8.3.RC1 can8.5.0");
  CHECK(possible("tr2.8.0_py313") == "cpu cu12.6 cu12.8 cu12.9");
  CHECK(possible("tf1.15_tr1.4.0_mx1.5.0_py36") == "cu10.0");
  CHECK(possible("tr2.8.0_py36").empty());
}

TEST_CASE("a driver carries its own CUDA, older ones, and newer ones of the same major number") {
  const Matrix matrix = builtin_matrix();
  const auto carried = [&](const char* driver, const char* cuda) {
    return carries(matrix, driver, *find_cuda(matrix, cuda));
  };
  CHECK(carried("550.54.14", "12.4") == Carries::yes);
  CHECK(carried("550", "12.4") == Carries::yes);
  CHECK(carried("550.90.07", "11.8") == Carries::yes);
  CHECK(carried("535.54.03", "12.4") == Carries::minor);
  CHECK(carried("525", "12.8") == Carries::minor);
  CHECK(carried("550.54.14", "13.0") == Carries::no);
  CHECK(carried("450", "12.1") == Carries::no);
  CHECK(carried("580", "13.1") == Carries::minor);
}

TEST_CASE("GPUs are found by name and by identity") {
  const Matrix matrix = builtin_matrix();
  CHECK(find_gpu(matrix, "NVIDIA H100 80GB HBM3")->name == "H100");
  CHECK(find_gpu(matrix, "l40s")->name == "L40S");
  CHECK(find_gpu(matrix, "NVIDIA L40")->name == "L40");
  CHECK(find_gpu(matrix, "Tesla V100-SXM2-16GB")->architecture == "Volta");
  CHECK_FALSE(find_gpu(matrix, "GeForce"));
  CHECK(find_gpu_by_id(matrix, "2335")->name == "H200");
}

TEST_CASE("a broken matrix is refused with its place") {
  const Error error = failure_of([] { parse_matrix("date: x\nsource: y\n", "m.yaml"); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(std::string(error.what()).find("'drivers' is missing") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
