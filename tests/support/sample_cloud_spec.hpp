// A request for machines of a cloud in which nearly every field is set.
#pragma once

#include "state/cloud_spec.hpp"

namespace fastgpu::test {

inline state::CloudSpec sample_cloud_spec() {
  return {.request = {.gpu = "A100",
                      .gpu_memory_gib = 80,
                      .gpus = 8,
                      .nodes = 4,
                      .market = state::Market::spot,
                      .max_price = Money{20.5, kUsd},
                      .data_disk = {500, "gp3"}},
          .region = "us-east-1",
          .image = "ami-1",
          .vpc = "mine",
          .disk_gib = 100,
          .ssh_from = {IpRange::parse("203.0.113.7/32")},
          .rdma = true,
          .mounts = {{"10.0.0.4:/models", "/models"}},
          .places = {{{"us-east-1", "us-east-1a"}, "p4de.24xlarge", Money{27.4, kUsd}},
                     {{"us-east-1", "us-east-1b"}, "p4de.24xlarge", {}}}};
}

}  // namespace fastgpu::test
