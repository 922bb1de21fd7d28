//===- Shapes.cpp - detects statements that can run faster ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/Shapes.h"

#include <algorithm>

using namespace sluice::text;
using namespace sluice::text::jinja;

namespace {

/// Returns whether an expression has the same value in every iteration of a
/// loop, if nothing else is evaluated: it calls nothing, and reads neither the
/// item nor `loop`. It may read attributes and items of variables only, not of
/// other attributes and items: a namespace can hold the loop as well.
class IsInvariant {
public:
  IsInvariant(Symbol item, const std::vector<std::string> &names)
      : item(item), names(names) {}

  bool operator()(const ExpressionPtr &expression) const {
    return !expression || std::visit(*this, expression->node);
  }
  bool operator()(const Constant &) const { return true; }
  bool operator()(const Variable &variable) const {
    return variable.name != item && names[variable.name] != "loop";
  }
  bool operator()(const Attribute &attribute) const {
    return isVariable(attribute.object);
  }
  bool operator()(const Item &node) const {
    return isVariable(node.object) && (*this)(node.key);
  }
  bool operator()(const Unary &unary) const { return (*this)(unary.operand); }
  bool operator()(const Logical &logical) const {
    return (*this)(logical.left) && (*this)(logical.right);
  }
  bool operator()(const ComparisonChain &comparison) const {
    return (*this)(comparison.first) &&
           std::ranges::all_of(comparison.rest, [&](const auto &operand) {
             return (*this)(operand.second);
           });
  }
  template <typename Other> bool operator()(const Other &) const {
    return false;
  }

private:
  Symbol item;
  const std::vector<std::string> &names;

  bool isVariable(const ExpressionPtr &expression) const {
    return std::holds_alternative<Variable>(expression->node) &&
           (*this)(expression);
  }
};

} // namespace

bool jinja::endsWhenFalse(const For &loop,
                          const std::vector<std::string> &names) {
  // Unpacking an item can fail, and a filter can change a namespace.
  if (loop.target.isTuple || loop.filter || loop.body.size() != 1)
    return false;
  const auto *only = std::get_if<If>(&loop.body[0].node);
  if (!only || only->branches.size() != 1 || !only->otherwise.empty())
    return false;
  return IsInvariant(loop.target.names[0].name, names)(only->branches[0].first);
}

bool jinja::appends(const Set &set) {
  const auto *joined = std::get_if<Concatenation>(&set.value->node);
  if (!joined || set.target.isTuple)
    return false;
  const Target::Name &place = set.target.names[0];
  const Expression *first = joined->parts[0].get();
  if (!place.attribute.empty()) {
    const auto *attribute = std::get_if<Attribute>(&first->node);
    if (!attribute || attribute->name != place.attribute)
      return false;
    first = attribute->object.get();
  }
  const auto *variable = std::get_if<Variable>(&first->node);
  return variable && variable->name == place.name;
}
