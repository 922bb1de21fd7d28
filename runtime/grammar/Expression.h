//===- Expression.h - regular expressions and bodies of rules -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The syntax trees of regular expressions and of GBNF rules, before they become
// automata.
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

/// Stores expressions as trees in one array. A node is named by its index and
/// never changes. The caller bounds the depth.
class ExpressionTree {
public:
  /// The `max` of a repetition without an upper bound.
  static constexpr uint32_t unbounded = std::numeric_limits<uint32_t>::max();

  enum class Kind : uint8_t {
    Characters, ///< one character of `set`
    Literal,    ///< the characters of `text` in order; may be empty
    Reference,  ///< the rule with number `rule`
    /// The parts in order; the empty text if there are none.
    Sequence,
    Choice, ///< one of the parts
    Repeat  ///< its only part, `min` to `max` times
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
