// The answers to shells that complete a line.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "envs/environments/record.hpp"
#include "state/directory.hpp"
#include "support/cli_session.hpp"

namespace fastgpu::cli {
namespace {

using test::put_cluster;
using test::Session;
using Words = std::vector<std::string>;

Words completed(Session& session, const Words& words) {
  Words line = {"__complete", "--"};
  line.insert(line.end(), words.begin(), words.end());
  session.out.text.clear();
  session.run(line);
  Words out;
  std::string text = session.out.text;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
    out.push_back(text.substr(0, std::min(end, text.find('\t'))));
    text.erase(0, end + 1);
  }
  return out;
}

TEST_SUITE_BEGIN("cli/completion");

TEST_CASE("completion answers with what may stand next") {
  Session session;
  put_cluster(session, "train", 2);
  CHECK(completed(session, {"desc"}) == Words{"describe"});
  CHECK(completed(session, {"get", "n"}) == Words{"nodes"});
  CHECK(completed(session, {"describe", "cluster", ""}) == Words{"train"});
  CHECK(completed(session, {"describe", "node", ""}) == Words{"train-0", "train-1"});
  CHECK(completed(session, {"create", "cluster", "x", "--provider", "l"}) == Words{"local"});
  CHECK(completed(session, {"create", "cluster", "x", "--provider=s"}) ==
        Words{"--provider=static"});
  CHECK(completed(session, {"create", "cluster", "--nod"}) == Words{"--nodes"});
  CHECK(completed(session, {"get", "clusters", "-o", "y"}) == Words{"yaml"});
  CHECK(completed(session, {"nonsense", "x"}).empty());
  CHECK(completed(session, {"help", "desc"}) == Words{"describe"});
  CHECK(completed(session, {"help", "get", "n"}) == Words{"nodes"});
  CHECK(completed(session, {"--state-dir", session.directory.path().string(), "desc"}) ==
        Words{"describe"});
  CHECK(completed(session, {"-o", "y"}) == Words{"yaml"});
  CHECK(completed(session, {"-q", "get", "n"}) == Words{"nodes"});
  CHECK(completed(session, {"exec", "train/train-0,train-"}) ==
        Words{"train/train-0,train-0", "train/train-0,train-1"});
  CHECK(completed(session, {"exec", "train/@w"}) == Words{"train/@workers"});
  CHECK(completed(session, {"get", "prices", "--cloud", "aw"}) == Words{"aws"});
}

TEST_CASE("completion knows environments, regions, GPUs, groups of nodes and lists of them") {
  Session session;
  const state::Cluster cluster = put_cluster(session, "train", 2);
  envs::write_record(state::cluster_directory(session.directory.path(), cluster.id),
                     {.prefix = {{"torch", "/opt"}, {"jax", "/opt"}}});
  CHECK(completed(session, {"env", "activate", ""}) == Words{"jax", "torch"});
  CHECK(completed(session, {"run", "job", "-E", "t"}) == Words{"torch"});
  CHECK(completed(session, {"run", "job", "--environment=t"}) == Words{"--environment=torch"});
  CHECK(completed(session, {"get", "prices", "--region", "us-e"}) ==
        Words{"us-east-1", "us-east-2"});
  CHECK(completed(session, {"get", "prices", "--cloud", "huawei", "--region", "us-e"}).empty());
  CHECK(completed(session, {"get", "prices", "--cloud", "huawei", "--region=al"}) ==
        Words{"--region=all"});
  CHECK(completed(session, {"create", "cluster", "x", "--gpus", "A100:"}).size() > 1);
  CHECK(completed(session, {"exec", "train/@"}) ==
        Words{"train/@head", "train/@workers", "train/@running", "train/@stopped", "train/@lost"});
  CHECK(completed(session, {"run", "job", "-c", "train/@h"}) == Words{"train/@head"});
  CHECK(completed(session, {"describe", "node", "train/"}) ==
        Words{"train/train-0", "train/train-1"});
  CHECK(completed(session, {"exec", "train", "-x", "train-0,"}) ==
        Words{"train-0,train-0", "train-0,train-1"});
  CHECK(completed(session, {"delete", "cluster", "x", "tr"}) == Words{"train"});
  CHECK(completed(session, {"help", ""}).size() > 20);
  CHECK_FALSE(completed(session, {"env", "matrix", ""}).empty());
}

TEST_CASE("completion answers from the state directory that the line names") {
  Session known;
  put_cluster(known, "train", 1);
  const std::string place = known.directory.path().string();
  const auto completed_by_stranger = [](const Words& words) {
    Session session;
    return completed(session, words);
  };
  CHECK(completed_by_stranger({"describe", "cluster", "--state-dir", place, ""}) == Words{"train"});
  CHECK(completed_by_stranger({"describe", "cluster", "--state-dir=" + place, ""}) ==
        Words{"train"});
  CHECK(completed_by_stranger({"describe", "cluster", "--state-dir=", ""}).empty());
}

TEST_CASE("completion makes no state directory") {
  Session session;
  CHECK(completed(session, {"describe", "cluster", ""}).empty());
  CHECK(std::filesystem::is_empty(session.directory.path()));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
