//===- ParserDepth.h - limits the parser's recursion ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_PARSERDEPTH_H
#define SLUICE_RUNTIME_JINJA_PARSERDEPTH_H

#include "runtime/jinja/Parser.h"

namespace sluice::text::jinja {

/// One level of the parser's recursion, which counts statements and expressions
/// alike. Parentheses take three levels, a block takes one.
class Parser::DepthGuard {
public:
  explicit DepthGuard(Parser &parser) : depth(parser.depth) {
    if (++depth > maxDepth)
      failAt(parser.current().at, "blocks and brackets nest too deep");
  }
  ~DepthGuard() { --depth; }
  DepthGuard(const DepthGuard &) = delete;
  DepthGuard &operator=(const DepthGuard &) = delete;

private:
  static constexpr uint32_t maxDepth = 300;
  uint32_t &depth;
};

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_PARSERDEPTH_H
