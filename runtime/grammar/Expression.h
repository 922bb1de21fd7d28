//===- Expression.h - regular expressions and bodies of rules -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the readers of GBNF and of regular expressions make of a text, before
// it becomes an automaton.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_EXPRESSION_H
#define SLUICE_RUNTIME_GRAMMAR_EXPRESSION_H

#include "runtime/grammar/CodePointSet.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace sluice::grammar {

/// A node of an ExpressionTree.
using ExpressionId = uint32_t;

/// Expressions as trees in one array; nodes are named by their index and never
/// change. The caller bounds their depth.
class ExpressionTree {
public:
  /// No upper bound of a repetition.
  static constexpr uint32_t unbounded = std::numeric_limits<uint32_t>::max();

  enum class Kind : uint8_t {
    Characters, ///< one character of `set`
    Literal,    ///< the characters of `text` in turn; may be empty
    Reference,  ///< the rule with number `rule`
    Sequence,   ///< the parts one after the other; without parts the empty text
    Choice,     ///< one of the parts
    Repeat      ///< the only part, `min` to `max` times
  };

  struct Node {
    Kind kind;
    uint32_t rule = 0;
    uint32_t min = 0;
    uint32_t max = 0;
    CodePointSet set = {};
    std::u32string text = {};
    std::vector<ExpressionId> parts = {};
  };

  ExpressionId characters(CodePointSet set) {
    Node node{.kind = Kind::Characters};
    node.set = std::move(set);
    return add(std::move(node));
  }
  ExpressionId literal(std::u32string text) {
    Node node{.kind = Kind::Literal};
    node.text = std::move(text);
    return add(std::move(node));
  }
  ExpressionId reference(uint32_t rule) {
    return add({.kind = Kind::Reference, .rule = rule});
  }
  ExpressionId sequence(std::vector<ExpressionId> parts) {
    return join(Kind::Sequence, std::move(parts));
  }
  ExpressionId choice(std::vector<ExpressionId> parts) {
    return join(Kind::Choice, std::move(parts));
  }
  ExpressionId repeat(ExpressionId part, uint32_t min, uint32_t max) {
    Node node{.kind = Kind::Repeat, .min = min, .max = max};
    node.parts.push_back(part);
    return add(std::move(node));
  }

  const Node &operator[](ExpressionId id) const { return nodes[id]; }

private:
  ExpressionId join(Kind kind, std::vector<ExpressionId> parts) {
    if (parts.size() == 1)
      return parts[0];
    Node node{.kind = kind};
    node.parts = std::move(parts);
    return add(std::move(node));
  }
  ExpressionId add(Node node) {
    nodes.push_back(std::move(node));
    return static_cast<ExpressionId>(nodes.size() - 1);
  }

  std::vector<Node> nodes;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_EXPRESSION_H
