#include "agent/jobs/slurm_tasks.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace fastgpu::agent {

TEST_SUITE_BEGIN("agent/slurm_tasks");

TEST_CASE("the tasks of each node are read from Slurm's short form") {
  struct Row {
    std::string text;
    std::vector<int> tasks;
  };
  const std::vector<Row> table = {
      {"4", {4}},
      {"2(x3),1", {2, 2, 2, 1}},
      {"1,2,3(x2)", {1, 2, 3, 3}},
      {"", {}},
      {"x", {}},
      {"2(x)", {}},
      {"2(x3", {}},
      {"2,,1", {}},
      {"0", {}},
      {"2(x0)", {}},
      {"-1", {}},
      {"2(x100001)", {}},
      {"1,2()", {}},
      {"100001", {}},
      {"1(x99999),1(x2)", {}},
      {"2(x3)1", {}},
      {"2,", {}},
  };
  for (const Row& row : table)
    CHECK_MESSAGE(parse_slurm_tasks(row.text) == row.tasks, row.text);
}

TEST_SUITE_END();

}  // namespace fastgpu::agent
