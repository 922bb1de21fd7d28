//===- Rows.cpp - rows, and the frames they travel in ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Rows.h"

namespace sluice {

static_assert(sizeof(Row) == 32);

void StepFrame::clear() {
  step = 0;
  launched = 0;
  drops.clear();
  opens.clear();
  marks.clear();
  rows.clear();
  keeps.clear();
  closes.clear();
  timings.clear();
}

} // namespace sluice
