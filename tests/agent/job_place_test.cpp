// Jobs on hosts that share a home directory, as real agents make and remove their folders. Hosts
// have a disk of their own each, for which the test moves what one has made out of the way.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "agent/jobs/job_place.hpp"
#include "agent/protocol/exit_codes.hpp"
#include "agent/protocol/files.hpp"
#include "agent/protocol/plan.hpp"
#include "base/random.hpp"
#include "support/agent_process.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;
using test::run_agent;

/// The home directory of two hosts, and their place on their own disks.
class SharedHome {
 public:
  SharedHome() { fs::create_directories(home.path() / ".fastgpu"); }
  ~SharedHome() {
    std::error_code none;
    if (place().empty()) return;
    fs::remove_all(place(), none);
    fs::remove_all(disk_of_other(), none);
  }
  SharedHome(const SharedHome&) = delete;
  SharedHome& operator=(const SharedHome&) = delete;

  /// Puts the first files of a job as one of its hosts does, and returns the agent's exit code.
  int put(const std::string& id, const std::string& secret, bool on_own_disk = false) {
    JobPlan plan;
    plan.id = id;
    plan.argv = {"x"};
    const std::vector<SmallFile> files = {{"jobs/" + id + "/rank", to_text(plan)},
                                          {"jobs/" + id + "/" + kCommSecret, secret}};
    std::vector<std::string> words = {"put-files", ".fastgpu", "--new-job", ".fastgpu/jobs/" + id};
    if (on_own_disk) words.emplace_back("--own-disk");
    const process::Captured answer = run_agent(home, words, encode_files(files));
    complaint = answer.err;
    return answer.status.shell_code();
  }
  int call(std::vector<std::string> words) {
    const process::Captured answer = run_agent(home, std::move(words));
    complaint = answer.err;
    return answer.status.shell_code();
  }

  fs::path folder(const std::string& id) const { return home.path() / kJobs / id; }
  /// Returns the place on the disk of the host whose agent runs.
  fs::path place() const {
    std::string text = test::read_text(home.path() / kOwnPlace);
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }
  /// From now on the agent runs on the other host.
  void switch_hosts() {
    const fs::path aside = disk_of_other().string() + ".aside";
    if (fs::exists(place())) fs::rename(place(), aside);
    if (fs::exists(disk_of_other())) fs::rename(disk_of_other(), place());
    if (fs::exists(aside)) fs::rename(aside, disk_of_other());
  }

  test::ScratchHome home;
  std::string complaint;

 private:
  fs::path disk_of_other() const { return place().string() + "-of-other"; }
};

TEST_SUITE_BEGIN("agent/job_place");

TEST_CASE("the second host of a job finds that the home directory is shared, and writes nothing") {
  SharedHome hosts;
  CHECK(hosts.put("train-1", "s1") == 0);
  const std::string before = test::read_text(hosts.folder("train-1") / "rank");
  CHECK(hosts.put("train-1", "s1") == kHomeShared);
  CHECK(test::read_text(hosts.folder("train-1") / "rank") == before);
  CHECK(hosts.put("train-1", "of another job") == kIdTaken);
  CHECK(!fs::exists(hosts.home.path() / kOwnPlace));
}

TEST_CASE("hosts that share a home directory have folders of their own, and later jobs at once") {
  SharedHome hosts;
  for (const std::string id : {"train-1", "train-2"}) {
    const bool is_first = id == "train-1";
    REQUIRE_MESSAGE(hosts.put(id, "s", is_first) == 0, hosts.complaint);
    CHECK(fs::is_symlink(hosts.folder(id)));
    struct stat status {};
    REQUIRE(::lstat(hosts.place().c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
    hosts.switch_hosts();
    REQUIRE_MESSAGE(hosts.put(id, "s", is_first) == 0, hosts.complaint);
    test::write_file(hosts.folder(id) / "ranks" / "1.out", "of the other");
    hosts.switch_hosts();
    CHECK(!fs::exists(hosts.folder(id) / "ranks"));
    CHECK(fs::exists(hosts.folder(id) / "rank"));
  }
}

TEST_CASE("a job that has the number already is left alone") {
  SharedHome hosts;
  REQUIRE(hosts.put("old-1", "s") == 0);  // Before it was known that the home is shared.
  REQUIRE(hosts.put("new-1", "s", true) == 0);
  CHECK(hosts.put("old-1", "t") == kIdTaken);
  CHECK(hosts.put("new-1", "t") == kIdTaken);
}

TEST_CASE("hosts that share their disks, too, are one machine, which is said") {
  SharedHome hosts;
  REQUIRE(hosts.put("train-1", "s", true) == 0);
  CHECK(hosts.put("train-1", "s", true) == 1);
  CHECK(hosts.complaint.find("and the same /var/tmp: is one machine in the cluster under two "
                             "names?") != std::string::npos);
}

TEST_CASE("each host removes its own folder, whichever of them is the first") {
  SharedHome hosts;
  for (int host = 0; host < 2; ++host, hosts.switch_hosts())
    REQUIRE(hosts.put("train-1", "s", true) == 0);
  CHECK_MESSAGE(hosts.call({"job-remove", ".fastgpu/jobs/train-1"}) == 0, hosts.complaint);
  CHECK(!fs::is_symlink(hosts.folder("train-1")));
  hosts.switch_hosts();
  CHECK(fs::exists(hosts.place() / "jobs/train-1/rank"));
  CHECK(hosts.call({"job-remove", ".fastgpu/jobs/train-1"}) == 0);
  CHECK(!fs::exists(hosts.place() / "jobs/train-1"));
  CHECK(hosts.call({"job-remove", ".fastgpu/jobs/train-1"}) == 0);
}

TEST_CASE("a job is stopped on a host where it has not begun") {
  SharedHome hosts;
  REQUIRE(hosts.put("train-1", "s", true) == 0);
  hosts.switch_hosts();
  CHECK_MESSAGE(hosts.call({"job-stop", ".fastgpu/jobs/train-1"}) == 0, hosts.complaint);
  CHECK(fs::exists(hosts.place() / "jobs/train-1/stopped"));
}

TEST_CASE("the place is refused if others may write there, or if its file has something else") {
  SharedHome hosts;
  REQUIRE(hosts.put("train-1", "s", true) == 0);
  fs::permissions(hosts.place(), fs::perms::others_read, fs::perm_options::add);
  CHECK(hosts.put("train-2", "s") == kNotAllowed);
  CHECK(hosts.complaint.find("it is another user's, or open to others") != std::string::npos);
  fs::permissions(hosts.place(), fs::perms::owner_all);
  hosts.switch_hosts();
  fs::create_directory_symlink(hosts.home.path(), hosts.place());
  CHECK(hosts.put("train-2", "s") == kNotAllowed);
  fs::remove(hosts.place());
  const std::string before = test::read_text(hosts.home.path() / kOwnPlace);
  test::write_file(hosts.home.path() / kOwnPlace, "/etc\n");
  CHECK(hosts.put("train-2", "s") == 1);
  CHECK(hosts.complaint.find("own-place is damaged") != std::string::npos);
  test::write_file(hosts.home.path() / kOwnPlace, before);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
