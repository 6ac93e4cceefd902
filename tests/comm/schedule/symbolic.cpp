#include "symbolic.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "comm/schedule/dependencies.hpp"

namespace fastgpu::comm {

Expression Expressions::contribution(int rank, std::uint64_t element) {
  const auto [found, is_new] =
      contributions_.try_emplace({rank, element}, static_cast<Expression>(contents_.size()));
  if (is_new) {
    contents_.push_back({.element = element, .ranks = {}});
    contents_.back().ranks.set(static_cast<std::size_t>(rank));
  }
  return found->second;
}

Expression Expressions::sum(Expression left, Expression right) {
  const Contents a = contents_[left];
  const Contents b = contents_[right];
  if (left == kMeaningless || right == kMeaningless || a.element != b.element ||
      (a.ranks & b.ranks).any())
    return kMeaningless;
  const auto [found, is_new] =
      sums_.try_emplace({left, right}, static_cast<Expression>(contents_.size()));
  if (is_new) contents_.push_back({.element = a.element, .ranks = a.ranks | b.ranks});
  return found->second;
}

bool Expressions::is_sum_of_all(Expression expression, int ranks, std::uint64_t element) const {
  const Contents& contents = contents_[expression];
  return expression != kMeaningless && contents.element == element &&
         contents.ranks.count() == static_cast<std::size_t>(ranks);
}

namespace {

class Run {
 public:
  Run(std::span<const Program> programs, const BufferSizes& sizes, Expressions& expressions)
      : programs_(programs), expressions_(expressions) {
    for (std::size_t rank = 0; rank < programs.size(); ++rank) {
      firsts_.push_back(after_.size());
      after_.resize(after_.size() + programs[rank].steps.size());
      fill_buffers(static_cast<int>(rank), sizes, programs[rank].scratch);
    }
    waits_.resize(after_.size());
    messages_.resize(after_.size());
    sender_.resize(after_.size());
    for (std::size_t rank = 0; rank < programs.size(); ++rank)
      add_edges(rank);
    match_messages();
  }

  SymbolicResult in_order_of(std::mt19937& random, std::optional<int> held) {
    std::vector<std::size_t> ready;
    const auto add_if_ready = [&](std::size_t node) {
      if (waits_[node] == 0 && rank_of(node) != held) ready.push_back(node);
    };
    std::vector<std::size_t> left(programs_.size());
    for (std::size_t rank = 0; rank < programs_.size(); ++rank)
      left[rank] = programs_[rank].steps.size();
    for (std::size_t node = 0; node < waits_.size(); ++node)
      add_if_ready(node);
    while (!ready.empty()) {
      std::swap(ready[random() % ready.size()], ready.back());
      const std::size_t node = ready.back();
      ready.pop_back();
      carry_out(node);
      --left[static_cast<std::size_t>(rank_of(node))];
      for (const std::size_t next : after_[node]) {
        --waits_[next];
        add_if_ready(next);
      }
    }
    SymbolicResult outcome;
    for (auto& buffers : buffers_)
      outcome.data.push_back(std::move(buffers[0]));
    for (const std::size_t steps : left)
      outcome.finished.push_back(steps == 0);
    return outcome;
  }

 private:
  void fill_buffers(int rank, const BufferSizes& sizes, std::uint64_t scratch) {
    auto& [data, input, own] = buffers_.emplace_back();
    for (std::uint64_t element = 0; element < sizes.data; ++element)
      data.push_back(expressions_.contribution(rank, element));
    for (std::uint64_t element = 0; element < sizes.input; ++element)
      input.push_back(expressions_.contribution(rank, element));
    own.resize(scratch, kMeaningless);
  }

  void add_edge(std::size_t from, std::size_t to) {
    after_[from].push_back(to);
    ++waits_[to];
  }

  void add_edges(std::size_t rank) {
    const Dependencies own = dependencies_of(programs_[rank]);
    const std::size_t first = firsts_[rank];
    for (std::size_t step = 0; step < own.before.size(); ++step)
      for (const StepIndex earlier : own.before[step])
        add_edge(first + earlier, first + step);
    for (std::size_t channel = 0; channel < own.channels.size(); ++channel) {
      const auto steps = own.on_channel[channel];
      for (std::size_t i = 1; i < steps.size(); ++i)
        add_edge(first + steps[i - 1], first + steps[i]);
      const auto [peer, lane, direction] = own.channels[channel];
      const int self = static_cast<int>(rank);
      auto& ends = direction == Direction::out ? sends_[{self, peer.value, lane}]
                                               : receives_[{peer.value, self, lane}];
      for (const StepIndex step : steps)
        ends.push_back(first + step);
    }
  }

  void match_messages() {
    for (const auto& [channel, sends] : sends_)
      for (std::size_t i = 0; i < sends.size(); ++i) {
        const std::size_t receive = receives_[channel][i];
        add_edge(sends[i], receive);
        sender_[receive] = sends[i];
      }
  }

  int rank_of(std::size_t node) const {
    return static_cast<int>(std::ranges::upper_bound(firsts_, node) - firsts_.begin()) - 1;
  }

  std::span<Expression> at(std::size_t rank, const Part& part) {
    return std::span(buffers_[rank].at(std::size_t(part.buffer))).subspan(part.offset, part.count);
  }

  void carry_out(std::size_t node) {
    const auto rank = static_cast<std::size_t>(rank_of(node));
    const Step& step = programs_[rank].steps[node - firsts_[rank]];
    std::vector<Expression> what = messages_[sender_[node]];
    if (read_by(step).count > 0) {
      const auto from = at(rank, step.from);
      what.assign(from.begin(), from.end());
    }
    if (step.kind == StepKind::send) {
      messages_[node] = what;
      return;
    }
    const auto to = at(rank, step.to);
    const bool adds = step.kind == StepKind::receive_reduce || step.kind == StepKind::reduce;
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = adds ? expressions_.sum(to[i], what[i]) : what[i];
  }

  using Ends = std::map<std::tuple<int, int, int>, std::vector<std::size_t>>;

  std::span<const Program> programs_;
  Expressions& expressions_;
  std::vector<std::size_t> firsts_;
  std::vector<std::array<std::vector<Expression>, 3>> buffers_;
  std::vector<std::vector<std::size_t>> after_;
  std::vector<std::size_t> waits_;
  std::vector<std::size_t> sender_;
  std::vector<std::vector<Expression>> messages_;
  Ends sends_;
  Ends receives_;
};

}  // namespace

SymbolicResult run(std::span<const Program> programs, const BufferSizes& sizes,
                   Expressions& expressions, std::mt19937& random, std::optional<int> held) {
  return Run(programs, sizes, expressions).in_order_of(random, held);
}

}  // namespace fastgpu::comm
