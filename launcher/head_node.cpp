#include "launcher/head_node.hpp"

#include "base/quote.hpp"

namespace fastgpu::launcher {
namespace {

constexpr int kNone = 3;    // The script's exit status for a missing record,
constexpr int kOthers = 4;  // and for a cluster of another owner.

constexpr const char* kPut =
#include "templates/nodes/put_record.inc"
    ;

constexpr const char* kGet =
#include "templates/nodes/get_record.inc"
    ;

bool ended_with(const NodeAnswer& answer, int code) {
  return answer.result.ok() && answer.result.value().code() == code;
}

}  // namespace

agent::LeaseAnswer HeadNode::take_lease(const agent::LeaseRequest& request, const Cancel& cancel) {
  std::vector<std::string> words = {"lease-take"};
  if (request.takes_over) words.emplace_back("--take-over");
  if (request.breaks) words.emplace_back("--break");
  words.insert(words.end(),
               {request.holder, std::to_string(request.duration.count()), request.who});
  const NodeAnswer answer = call(words, cancel);
  check({answer}, "taking the cluster's lease");
  return agent::parse_lease_answer(answer.out);
}

void HeadNode::drop_lease(const std::string& holder, const Cancel& cancel) {
  check({call({"lease-drop", holder}, cancel)}, "returning the cluster's lease");
}

void HeadNode::own(const std::string& owner, const std::string& taken, const Cancel& cancel) {
  check({call({"lease-own", owner, taken}, cancel)}, "setting the cluster's owner");
}

void HeadNode::put_record(const std::string& text, const std::string& owner, const Cancel& cancel) {
  const NodeTask task{.host = host_,
                      .command = shell_join(std::vector<std::string>{
                          "sh", "-c", kPut, "sh", std::to_string(text.size()), owner}),
                      .input = text};
  const NodeAnswer answer = ask(client_, {task}, timeout_, cancel).front();
  if (ended_with(answer, kOthers))
    throw Error(ErrorKind::conflict, "another state directory has taken the cluster over");
  check({answer}, "writing the cluster's record");
}

std::string HeadNode::record(std::size_t most, const Cancel& cancel) {
  const NodeTask task{.host = host_,
                      .command = shell_join(std::vector<std::string>{"sh", "-c", kGet, "sh",
                                                                     std::to_string(most + 1)}),
                      .most_output = most + 1};
  const NodeAnswer answer = ask(client_, {task}, timeout_, cancel).front();
  if (ended_with(answer, kNone))
    throw Error(ErrorKind::not_found, host_.name.value + " keeps no record of its cluster");
  check({answer}, "reading the cluster's record");
  return answer.out;
}

NodeAnswer HeadNode::call(const std::vector<std::string>& words, const Cancel& cancel) {
  return ask_agent(client_, {{host_, remote::agent_command(agent_.hash, words)}}, agent_, timeout_,
                   cancel)
      .front();
}

}  // namespace fastgpu::launcher
