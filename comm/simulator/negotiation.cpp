#include "comm/simulator/negotiation.hpp"

#include <deque>
#include <map>
#include <utility>

#include "comm/gradients/negotiation.hpp"
#include "comm/schedule/tree.hpp"

namespace fastgpu::comm {
namespace {

/// Ranks that negotiate with each other, and the steps of each meanwhile.
class Recording {
 public:
  Recording(int ranks, std::size_t gradients) : programs_(static_cast<std::size_t>(ranks)) {
    GradientSet all(gradients);
    for (std::size_t id = 0; id < gradients; ++id)
      all.add({id});
    for (int rank = 0; rank < ranks; ++rank)
      ranks_.emplace_back(Rank{rank}, ranks, gradients,
                          Negotiation::Statement{.mine = {.rank = {rank}, .ready = all}});
  }

  std::vector<Program> run() && {
    for (std::size_t self = 0; self < ranks_.size(); ++self)
      send(self);
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for (std::size_t self = 0; self < ranks_.size(); ++self)
        while (receive(self))
          has_moved = true;
    }
    return std::move(programs_);
  }

 private:
  void send(std::size_t self) {
    for (Negotiation::Outgoing& each : ranks_[self].take_outgoing()) {
      Writer(programs_[self]).send(each.to.value, {whole_of(each.message.size()), 0});
      const auto to = static_cast<std::size_t>(each.to.value);
      post_[{self, to}].push_back(std::move(each.message));
    }
  }

  /// Receives the awaited message. The next send depends on it: both are the same bytes of the
  /// rank's data.
  bool receive(std::size_t self) {
    const auto awaited = ranks_[self].awaited();
    if (!awaited) return false;
    auto& descriptors = post_[{static_cast<std::size_t>(awaited->from.value), self}];
    if (descriptors.empty()) return false;
    Writer(programs_[self]).receive(awaited->from.value, {whole_of(descriptors.front().size()), 0});
    ranks_[self].received(descriptors.front());
    descriptors.pop_front();
    send(self);
    return true;
  }

  std::vector<Negotiation> ranks_;
  std::vector<Program> programs_;
  std::map<std::pair<std::size_t, std::size_t>, std::deque<std::vector<std::byte>>> post_;
};

}  // namespace

std::vector<Program> negotiation_of_a_step(int ranks, std::size_t gradients) {
  return Recording(ranks, gradients).run();
}

Program coordinated_negotiation(RankPlace place, const CoordinatorMessages& messages) {
  Program program;
  Writer writer(program);
  const Part mine = whole_of(messages.request);
  if (place.self > 0) {
    writer.send(0, {mine, 0});
  } else {
    for (int rank = 1; rank < place.ranks; ++rank) {
      const Part request{Buffer::scratch, program.scratch, messages.request};
      writer.receive(rank, {request, 0});
      program.scratch += messages.request;
    }
    for (int rank = 1; rank < place.ranks; ++rank)
      writer.reduce(mine, {Buffer::scratch, messages.request * unsigned(rank - 1), mine.count});
  }
  return then(program, broadcast_by_tree(place, 0, messages.response, {}));
}

}  // namespace fastgpu::comm
