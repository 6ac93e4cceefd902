// Writes a cluster of two nodes and a job into a state directory, for tests: seed_state DIRECTORY
#include <iostream>

#include "state/store.hpp"

int main(int argc, char** argv) try {
  using namespace fastgpu;
  if (argc != 2) return 2;
  state::Store store(argv[1]);
  const state::Cluster cluster{.id = {"0a1b2c3d"}, .name = {"demo"}, .provider = "static"};
  store.insert_cluster(cluster);
  for (int i = 0; i < 2; ++i)
    store.put_node({.cluster = cluster.id, .index = i, .name = {"demo-" + std::to_string(i)}});
  state::Job job{.cluster = cluster.id};
  store.insert_job(job, {"train"});
  return 0;
} catch (const std::exception& e) {
  std::cerr << e.what() << "\n";
  return 1;
}
