//===- Rows.cpp - rows and the frames that carry them ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Rows.h"

#include <algorithm>
#include <tuple>

namespace sluice {

static_assert(sizeof(Row) == 32);

GrammarSource::GrammarSource(Kind kind, std::string text) : kind(kind) {
  if (!text.empty())
    shared = std::make_shared<const std::string>(std::move(text));
}

const std::string &GrammarSource::text() const {
  static const std::string none;
  return shared ? *shared : none;
}

bool GrammarSource::operator==(const GrammarSource &other) const {
  return kind == other.kind && scope == other.scope &&
         (shared == other.shared || text() == other.text());
}

void StepFrame::sortRows() {
  std::ranges::sort(rows, [](const Row &a, const Row &b) {
    return std::tie(a.request, a.node) < std::tie(b.request, b.node);
  });
}

void StepFrame::clear() {
  step = 0;
  launched = 0;
  unpins.clear();
  opens.clear();
  marks.clear();
  rows.clear();
  pins.clear();
  closes.clear();
  timings.clear();
}

} // namespace sluice
