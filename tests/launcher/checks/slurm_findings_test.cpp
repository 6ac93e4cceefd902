#include "launcher/checks/slurm_findings.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using fastgpu::test::failure_of;

TEST_SUITE_BEGIN("launcher/slurm_findings");

TEST_CASE("Slurm that runs everywhere has no findings") {
  const std::vector<SlurmHealth> nodes = {parse_slurm_health({"lab-0"}, "end\n"),
                                          parse_slurm_health({"lab-1"}, "end\n")};
  CHECK(slurm_findings(nodes, "lab").empty());
}

TEST_CASE("each fault of Slurm is one finding, with its nodes and the command that repairs it") {
  const std::vector<SlurmHealth> nodes = {
      parse_slurm_health({"lab-0"}, "out\tlab-1\tdown*\nout\tlab-3\tdrained\nend\n"),
      parse_slurm_health({"lab-1"}, "dead\tslurmd\nend\n"),
      parse_slurm_health({"lab-2"}, "dead\tslurmd\nend\n"), parse_slurm_health({"lab-3"}, "end\n"),
      parse_slurm_health({"lab-4"}, "missing\nend\n")};

  const std::vector<Finding> findings = slurm_findings(nodes, "lab");

  REQUIRE(findings.size() == 3);
  CHECK(findings[0].nodes == std::vector<std::string>{"lab-4"});
  CHECK(findings[0].found == "no Slurm of this cluster, whose record has `scheduler: slurm`");
  CHECK(findings[1].nodes == std::vector<std::string>{"lab-1", "lab-2"});
  CHECK(findings[1].found == "slurmd does not run");
  CHECK(findings[2].nodes == std::vector<std::string>{"lab-3"});
  CHECK(findings[2].found == "Slurm has it in the state drained");
  for (const Finding& finding : findings) {
    CHECK(finding.check == "slurm");
    CHECK(finding.severity == Severity::error);
    CHECK(finding.remedy.find("fastgpu start cluster lab") == 0);
  }
}

TEST_CASE("a controller that does not answer is found, and is not repeated if its daemon is dead") {
  const std::string silent = "silent\tUnable to contact slurm controller\nend\n";
  const SlurmHealth alive = parse_slurm_health({"lab-0"}, silent);
  const SlurmHealth ended = parse_slurm_health({"lab-0"}, "dead\tslurmctld\n" + silent);

  REQUIRE(slurm_findings({&alive, 1}, "lab").size() == 1);
  CHECK(slurm_findings({&alive, 1}, "lab")[0].found ==
        "Slurm's controller does not answer: Unable to contact slurm controller");
  REQUIRE(slurm_findings({&ended, 1}, "lab").size() == 1);
  CHECK(slurm_findings({&ended, 1}, "lab")[0].found == "slurmctld does not run");
}

TEST_CASE("an answer that is cut off or of another kind is an error that shows it") {
  for (const char* text : {"", "dead\tslurmd\n", "hello\nend\n"})
    CHECK(failure_of([&] { parse_slurm_health({"lab-0"}, text); }).kind() == ErrorKind::remote);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
