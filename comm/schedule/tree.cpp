#include "comm/schedule/tree.hpp"

namespace fastgpu::comm {
namespace {

/// A binomial tree. Counted from the root, a rank's parent is itself without its lowest bit, and
/// its children add one bit below that.
class BinomialTree {
 public:
  BinomialTree(RankPlace place, int root)
      : place_(place), root_(root), self_((place.self + place.ranks - root) % place.ranks) {
    while (top_ < place.ranks && (self_ & top_) == 0)
      top_ <<= 1;
  }

  bool is_root() const { return self_ == 0; }
  int parent() const { return rank_of(self_ & (self_ - 1)); }

  /// Returns the children, the one with the most ranks below it first.
  std::vector<int> children() const {
    std::vector<int> result;
    for (int bit = top_ >> 1; bit > 0; bit >>= 1)
      if (self_ + bit < place_.ranks) result.push_back(rank_of(self_ + bit));
    return result;
  }

 private:
  int rank_of(int number) const { return (number + root_) % place_.ranks; }

  RankPlace place_;
  int root_;
  int self_;
  int top_ = 1;
};

}  // namespace

Program broadcast_by_tree(RankPlace place, int root, std::uint64_t count, Cut cut) {
  Program program;
  Writer writer(program);
  const BinomialTree tree(place, root);
  for (const Piece& piece : pieces_of(whole_of(count), cut)) {
    if (!tree.is_root()) writer.receive(tree.parent(), piece);
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
  const std::vector<int> children = tree.children();
  for (const Piece& piece : pieces_of(whole_of(count), cut)) {
    for (auto child = children.rbegin(); child != children.rend(); ++child)
      writer.receive_reduce(*child, piece);
    if (!tree.is_root()) writer.send(tree.parent(), piece);
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
