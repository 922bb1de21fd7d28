//===- TextAutomaton.cpp - sets of texts that can be combined -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/TextAutomaton.h"

#include "runtime/grammar/GrammarLimits.h"
#include "runtime/grammar/StateSetHash.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>

using namespace sluice;
using namespace sluice::grammar;

namespace {

using Edge = TextAutomaton::Edge;
using State = TextAutomaton::State;
using Kind = ExpressionTree::Kind;

constexpr uint32_t none = UINT32_MAX;

Status tooLarge() {
  return failure("its automaton needs more than ", maxTextStates, " states or ",
                 maxTextEdges, " edges");
}

/// The states of an expression or of two automata for which one state of a new
/// automaton stands.
using Key = std::vector<uint32_t>;

/// Makes the states of an automaton from their keys, as they are reached.
class StateMaker {
public:
  explicit StateMaker(WorkMeter &meter) : meter(meter), held(meter) {}

  uint32_t numberOf(Key key) {
    constexpr size_t entryBytes = 64; // of the table, besides the key's states
    (void)meter.charge(1 + key.size()); // make() ends the work
    auto [it, fresh] =
        numbers.try_emplace(std::move(key), static_cast<uint32_t>(keys.size()));
    if (fresh) {
      keys.push_back(&it->first);
      (void)held.add(entryBytes + it->first.size() * sizeof(uint32_t));
    }
    return it->second;
  }

  /// Calls `fill(key, state)` for each state, also for those that it adds.
  /// Errors: the automaton is too large, or the meter ends the work.
  Expected<TextAutomaton>
  make(const std::function<void(const Key &, State &)> &fill) {
    std::vector<State> states;
    size_t edges = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      State state;
      fill(*keys[i], state);
      if (!meter.charge(1 + state.edges.size()))
        return meter.status();
      edges += state.edges.size();
      states.push_back(std::move(state));
      if (keys.size() > maxTextStates || edges > maxTextEdges)
        return tooLarge();
    }
    return TextAutomaton(std::move(states), meter);
  }

private:
  WorkMeter &meter;
  HeldBytes held;
  std::unordered_map<Key, uint32_t, StateSetHash> numbers;
  std::vector<const Key *> keys; // keys of a map do not move
};

/// Runs Thompson's construction, then the subset construction.
class Builder {
public:
  Builder(const ExpressionTree &tree, WorkMeter &meter)
      : tree(tree), meter(meter), held(meter) {}

  Expected<TextAutomaton> run(ExpressionId root) {
    uint32_t start = addNode(), end = addNode();
    add(root, start, end);
    if (full())
      return meter.status().ok() ? tooLarge() : meter.status();
    StateMaker maker(meter);
    seen.assign(nodes.size(), 0);
    maker.numberOf(closure({start}));
    return maker.make([&](const Key &set, State &state) {
      state.accepting = std::binary_search(set.begin(), set.end(), end);
      addEdges(set, state, maker);
    });
  }

private:
  struct Node {
    std::vector<uint32_t> free; // reached without a character
    const CodePointSet *set = nullptr;
    uint32_t target = 0; // reached by a character of `set`
  };

  bool full() const {
    return nodes.size() > maxTextEdges || meter.end() != WorkMeter::End::None;
  }

  uint32_t addNode() {
    constexpr size_t freeNodes = 2; // about, for a node
    (void)meter.charge();
    (void)held.add(sizeof(Node) + freeNodes * sizeof(uint32_t));
    nodes.emplace_back();
    return static_cast<uint32_t>(nodes.size() - 1);
  }

  void read(uint32_t from, const CodePointSet &set, uint32_t to) {
    uint32_t node = addNode();
    nodes[from].free.push_back(node);
    nodes[node].set = &set;
    nodes[node].target = to;
  }

  void add(ExpressionId id, uint32_t from, uint32_t to) {
    if (full())
      return;
    const ExpressionTree::Node &node = tree[id];
    switch (node.kind) {
    case Kind::Characters:
      return read(from, node.set, to);
    case Kind::Literal:
      for (char32_t character : node.text) {
        const CodePointSet &set =
            single
                .try_emplace(character, CodePointSet({{character, character}}))
                .first->second;
        uint32_t next = addNode();
        read(from, set, next);
        from = next;
      }
      nodes[from].free.push_back(to);
      return;
    case Kind::Sequence:
      for (ExpressionId part : node.parts) {
        uint32_t next = addNode();
        add(part, from, next);
        from = next;
      }
      nodes[from].free.push_back(to);
      return;
    case Kind::Choice:
      for (ExpressionId part : node.parts)
        add(part, from, to);
      return;
    case Kind::Repeat:
      return addRepeat(node, from, to);
    case Kind::Reference:
      assert(false && "a pattern has no rules");
    }
  }

  void addRepeat(const ExpressionTree::Node &node, uint32_t from, uint32_t to) {
    for (uint32_t i = 0; i < node.min && !full(); ++i) {
      uint32_t next = addNode();
      add(node.parts[0], from, next);
      from = next;
    }
    if (node.max == ExpressionTree::unbounded) {
      uint32_t loop = addNode(), again = addNode();
      nodes[from].free.push_back(loop);
      add(node.parts[0], loop, again);
      nodes[again].free.push_back(loop);
      from = loop;
    } else {
      for (uint32_t i = node.min; i < node.max && !full(); ++i) {
        uint32_t next = addNode();
        nodes[from].free.push_back(to);
        add(node.parts[0], from, next);
        from = next;
      }
    }
    nodes[from].free.push_back(to);
  }

  /// Returns what can be reached from `seeds` without a character, reduced to
  /// the nodes that read one and the end, which is node 1.
  Key closure(Key seeds) {
    ++round;
    Key reached;
    while (!seeds.empty() && meter.charge()) {
      uint32_t node = seeds.back();
      seeds.pop_back();
      if (seen[node] == round)
        continue;
      seen[node] = round;
      if (nodes[node].set || node == 1)
        reached.push_back(node);
      seeds.insert(seeds.end(), nodes[node].free.begin(),
                   nodes[node].free.end());
    }
    std::sort(reached.begin(), reached.end());
    return reached;
  }

  void addEdges(const Key &set, State &state, StateMaker &maker) {
    std::vector<uint32_t> bounds;
    for (uint32_t node : set)
      if (nodes[node].set && meter.charge(nodes[node].set->ranges().size()))
        for (CodePointSet::Range range : nodes[node].set->ranges()) {
          bounds.push_back(range.low);
          bounds.push_back(range.high + 1);
        }
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    for (size_t i = 0; i + 1 < bounds.size() && meter.charge(set.size()); ++i) {
      Key targets;
      for (uint32_t node : set)
        if (nodes[node].set && nodes[node].set->contains(bounds[i]))
          targets.push_back(nodes[node].target);
      if (targets.empty())
        continue;
      uint32_t target = maker.numberOf(closure(std::move(targets)));
      if (!state.edges.empty() && state.edges.back().target == target &&
          state.edges.back().high + 1 == bounds[i])
        state.edges.back().high = bounds[i + 1] - 1;
      else
        state.edges.push_back({bounds[i], bounds[i + 1] - 1, target});
    }
  }

  const ExpressionTree &tree;
  std::vector<Node> nodes;
  std::map<uint32_t, CodePointSet> single;
  std::vector<uint32_t> seen;
  uint32_t round = 0;
  WorkMeter &meter;
  HeldBytes held; // of `nodes`
};

/// Returns the edge of a state for a character, or null.
const Edge *findEdge(const State &state, uint32_t character) {
  auto after = std::upper_bound(
      state.edges.begin(), state.edges.end(), character,
      [](uint32_t value, const Edge &edge) { return value < edge.low; });
  if (after == state.edges.begin() || std::prev(after)->high < character)
    return nullptr;
  return &*std::prev(after);
}

/// Runs both automata at once. With `inBoth`, a text must be in both, else only
/// in `a`.
Expected<TextAutomaton> product(const TextAutomaton &a, const TextAutomaton &b,
                                bool inBoth, WorkMeter &meter) {
  if (a.empty())
    return a;
  // A state stands for one state of `a`, and for one of `b` or none.
  StateMaker maker(meter);
  maker.numberOf({0, b.empty() ? none : 0});
  return maker.make([&](const Key &pair, State &state) {
    const State &left = a.states()[pair[0]];
    const State *right = pair[1] == none ? nullptr : &b.states()[pair[1]];
    bool inRight = right && right->accepting;
    state.accepting = left.accepting && inRight == inBoth;
    for (const Edge &edge : left.edges)
      for (uint32_t low = edge.low; low <= edge.high;) {
        // The part of the edge that is covered by one of b's edges, or by the
        // gap before the next of these.
        const Edge *other = right ? findEdge(*right, low) : nullptr;
        uint32_t high = edge.high, second = none;
        if (other) {
          high = std::min(high, other->high);
          second = other->target;
        } else if (right) {
          auto next = std::upper_bound(
              right->edges.begin(), right->edges.end(), low,
              [](uint32_t value, const Edge &e) { return value < e.low; });
          if (next != right->edges.end())
            high = std::min(high, next->low - 1);
        }
        if (other || !inBoth)
          state.edges.push_back(
              {low, high, maker.numberOf({edge.target, second})});
        low = high + 1;
      }
  });
}

} // namespace

/// Returns the states from which an accepting state can be reached, renumbered;
/// none if the start is not among them.
static std::vector<State> onlyLiving(std::vector<State> states) {
  std::vector<std::vector<uint32_t>> sources(states.size());
  std::vector<uint32_t> work;
  std::vector<bool> alive(states.size());
  for (uint32_t i = 0; i < states.size(); ++i) {
    for (const Edge &edge : states[i].edges)
      sources[edge.target].push_back(i);
    if (states[i].accepting) {
      alive[i] = true;
      work.push_back(i);
    }
  }
  while (!work.empty()) {
    uint32_t state = work.back();
    work.pop_back();
    for (uint32_t source : sources[state])
      if (!alive[source]) {
        alive[source] = true;
        work.push_back(source);
      }
  }
  std::vector<State> living;
  if (states.empty() || !alive[0])
    return living;
  std::vector<uint32_t> number(states.size(), none);
  uint32_t count = 0;
  for (uint32_t i = 0; i < states.size(); ++i)
    if (alive[i])
      number[i] = count++;
  for (uint32_t i = 0; i < states.size(); ++i) {
    if (!alive[i])
      continue;
    State &state = living.emplace_back();
    state.accepting = states[i].accepting;
    for (const Edge &edge : states[i].edges)
      if (alive[edge.target])
        state.edges.push_back({edge.low, edge.high, number[edge.target]});
  }
  return living;
}

TextAutomaton::TextAutomaton(std::vector<State> states, WorkMeter &meter) {
  size_t edges = 0;
  for (const State &state : states)
    edges += state.edges.size();
  (void)meter.charge(states.size() + edges);
  auto living = std::make_shared<Shared>();
  living->states = onlyLiving(std::move(states));
  living->held = HeldBytes(meter);
  (void)living->held.add(living->states.size() * sizeof(State) +
                         edges * sizeof(Edge));
  if (!living->states.empty())
    shared = std::move(living);
}

const std::vector<State> &TextAutomaton::states() const {
  static const std::vector<State> noStates;
  return shared ? shared->states : noStates;
}

TextAutomaton TextAutomaton::all() {
  static const auto every = [] {
    auto shared = std::make_shared<Shared>();
    State &state = shared->states.emplace_back();
    state.accepting = true;
    CodePointSet characters = CodePointSet::all();
    for (CodePointSet::Range range : characters.ranges())
      state.edges.push_back({range.low, range.high, 0});
    return shared;
  }();
  return TextAutomaton(every);
}

Expected<TextAutomaton> TextAutomaton::of(const std::vector<std::string> &texts,
                                          WorkMeter &meter) {
  ExpressionTree tree;
  std::vector<ExpressionId> literals;
  for (const std::string &text : texts) {
    std::u32string characters;
    for (size_t at = 0; at < text.size();)
      characters.push_back(text::nextCodePoint(text, at));
    literals.push_back(tree.literal(std::move(characters)));
  }
  return fromExpression(tree, tree.choice(std::move(literals)), meter);
}

Expected<TextAutomaton>
TextAutomaton::fromExpression(const ExpressionTree &tree, ExpressionId root,
                              WorkMeter &meter) {
  return Builder(tree, meter).run(root);
}

Expected<TextAutomaton> TextAutomaton::intersection(const TextAutomaton &a,
                                                    const TextAutomaton &b,
                                                    WorkMeter &meter) {
  return product(a, b, true, meter);
}

Expected<TextAutomaton> TextAutomaton::difference(const TextAutomaton &a,
                                                  const TextAutomaton &b,
                                                  WorkMeter &meter) {
  return product(a, b, false, meter);
}

bool TextAutomaton::contains(std::string_view text) const {
  if (empty())
    return false;
  uint32_t state = 0;
  for (size_t at = 0; at < text.size();) {
    const Edge *edge = findEdge(states()[state], text::nextCodePoint(text, at));
    if (!edge)
      return false;
    state = edge->target;
  }
  return states()[state].accepting;
}

bool SizedTexts::contains(std::string_view text) const {
  uint64_t length = 0;
  for (size_t at = 0; at < text.size(); ++length)
    at += text::characterLength(text[at]);
  return min <= length && length <= max && texts.contains(text);
}
