#include "comm/schedule/tree.hpp"

#include <optional>
#include <vector>

namespace fastgpu::comm {
namespace {

/// A binomial tree over the ranks from the root's on, and round again. A part of it is a range
/// whose head is at one end. The head sends to the other end, which becomes the head of the half
/// there: ranks that pass data on are far from each other. Of four ranks on two cores, root 0 and
/// the rank that passes on have a core each, whether neighbours share one or every other rank does.
class BinomialTree {
 public:
  BinomialTree(RankPlace place, int root) : place_(place), root_(root) {
    const int self = (place.self + place.ranks - root) % place.ranks;
    int begin = 0;
    int size = place.ranks;
    bool is_head_first = true;
    while (size > 1) {
      const int kept = size - size / 2;
      const int last = begin + size - 1;
      const int head = is_head_first ? begin : last;
      const int other_head = is_head_first ? last : begin;
      if (self == head) children_.push_back(rank_of(other_head));
      if (self == other_head) parent_ = rank_of(head);
      const bool is_in_other = is_head_first ? self >= begin + kept : self <= last - kept;
      if (is_head_first == is_in_other) begin += is_in_other ? kept : size - kept;
      size = is_in_other ? size - kept : kept;
      if (is_in_other) is_head_first = !is_head_first;
    }
  }

  /// Returns the rank that sends to this one; absent for the root.
  std::optional<int> parent() const { return parent_; }
  /// Returns the children, the one with the most ranks below it first.
  const std::vector<int>& children() const { return children_; }

 private:
  int rank_of(int number) const { return (number + root_) % place_.ranks; }

  RankPlace place_;
  int root_;
  std::optional<int> parent_;
  std::vector<int> children_;
};

}  // namespace

Program broadcast_by_tree(RankPlace place, int root, std::uint64_t count, Cut cut) {
  Program program;
  Writer writer(program);
  const BinomialTree tree(place, root);
  for (const Piece& piece : pieces_of(whole_of(count), cut)) {
    if (tree.parent()) writer.receive(*tree.parent(), piece);
    for (const int child : tree.children())
      writer.send(child, piece);
  }
  return program;
}

Program broadcast_by_chain(RankPlace place, int root, std::uint64_t count, Cut cut) {
  Program program;
  Writer writer(program);
  for (const Piece& piece : pieces_of(whole_of(count), cut)) {
    if (place.self != root) writer.receive(place.left(), piece);
    if (place.right() != root) writer.send(place.right(), piece);
  }
  return program;
}

Program reduce_by_tree(RankPlace place, int root, std::uint64_t count, Cut cut) {
  Program program;
  Writer writer(program);
  const BinomialTree tree(place, root);
  const std::vector<int>& children = tree.children();
  for (const Piece& piece : pieces_of(whole_of(count), cut)) {
    for (auto child = children.rbegin(); child != children.rend(); ++child)
      writer.receive_reduce(*child, piece);
    if (tree.parent()) writer.send(*tree.parent(), piece);
  }
  return program;
}

Program all_reduce_by_tree(RankPlace place, std::uint64_t count, Cut cut) {
  return then(reduce_by_tree(place, 0, count, cut), broadcast_by_tree(place, 0, count, cut));
}

Program barrier(RankPlace place) {
  Program program;
  Writer writer(program);
  const Part token{Buffer::scratch, 0, 1};
  Part arrived = token;
  for (int distance = 1; distance < place.ranks; distance *= 2) {
    ++arrived.offset;
    writer.send(place.right(distance), {token, 0});
    writer.receive(place.left(distance), {arrived, 0});
    // Makes the next send wait for this receive.
    if (2 * distance < place.ranks) writer.copy(token, arrived);
  }
  program.scratch = program.steps.empty() ? 0 : arrived.offset + 1;
  return program;
}

}  // namespace fastgpu::comm
