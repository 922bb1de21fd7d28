//===- InterpreterGuards.h - scope guards of the interpreter --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_INTERPRETERGUARDS_H
#define SLUICE_RUNTIME_JINJA_INTERPRETERGUARDS_H

#include "runtime/jinja/TemplateInterpreter.h"

#include <utility>

namespace sluice::text::jinja {

class TemplateInterpreter::DepthGuard {
public:
  DepthGuard(TemplateInterpreter &interpreter, Position at)
      : depth(interpreter.depth) {
    // A template without macros stays below the limit, which bounds the
    // recursion of macros and thereby the stack.
    if (depth >= maxDepth)
      failAt(at, "macros call each other too deep");
    ++depth;
  }
  ~DepthGuard() { --depth; }
  DepthGuard(const DepthGuard &) = delete;
  DepthGuard &operator=(const DepthGuard &) = delete;

private:
  static constexpr uint32_t maxDepth = 1000;
  uint32_t &depth;
};

class TemplateInterpreter::Capture {
public:
  explicit Capture(TemplateInterpreter &interpreter)
      : interpreter(interpreter), outer(std::exchange(interpreter.out, &text)) {
  }
  ~Capture() { interpreter.out = outer; }
  Capture(const Capture &) = delete;
  Capture &operator=(const Capture &) = delete;

  std::string take() { return std::move(text); }

private:
  TemplateInterpreter &interpreter;
  std::string text;
  std::string *outer;
};

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_INTERPRETERGUARDS_H
