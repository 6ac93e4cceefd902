#include "cli/workflows/kubernetes_access.hpp"

#include <doctest/doctest.h>

#include <string>

namespace fastgpu::cli {
namespace {

TEST_SUITE_BEGIN("cli/kubernetes_access");

TEST_CASE("a Kubernetes that is gone is out of reach, and one that refuses is not") {
  for (const ErrorKind kind :
       {ErrorKind::transient, ErrorKind::timeout, ErrorKind::not_found, ErrorKind::usage})
    CHECK(is_out_of_reach(Error(kind, "lab: no connection")));
  for (const ErrorKind kind :
       {ErrorKind::denied, ErrorKind::interrupted, ErrorKind::remote, ErrorKind::conflict})
    CHECK_FALSE(is_out_of_reach(Error(kind, "lab: no")));
}

TEST_CASE(
    "the error of a job that may run out of reach names the command that removes its record") {
  const Error gone =
      with_way_out("train-1", Error(ErrorKind::transient, "lab: no connection"), ApiServer::gone);
  CHECK(gone.kind() == ErrorKind::transient);
  CHECK(std::string(gone.what()).find("`fastgpu delete job train-1`") != std::string::npos);
  const Error denied(ErrorKind::denied, "lab: no");
  CHECK(std::string(with_way_out("train-1", denied, ApiServer::answers).what()) == "lab: no");
  const Error busy = with_way_out("train-1", Error(ErrorKind::transient, "lab: HTTP status 503"),
                                  ApiServer::answers);
  CHECK(std::string(busy.what()) ==
        "lab: HTTP status 503; job train-1 may run there: the server answers, so try again once it "
        "does as usual");
}

TEST_CASE("an MPIJob is named with its namespace and context, as far as they are on record") {
  launcher::JobRecord record;
  record.spec.kubernetes.context = "lab";
  record.spec.kubernetes.name_space = "ml";
  CHECK(mpijob_of(record, "train-1") == "MPIJob ml/train-1 (context lab)");
  record.spec.kubernetes.name_space.clear();
  CHECK(mpijob_of(record, "train-1") == "MPIJob train-1 (context lab)");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
