//===- StallWatch.cpp - detection of work without progress ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/StallWatch.h"

using namespace sluice;
using namespace sluice::serve;

void StallWatch::look(Time now, Movement movement) {
  const bool stood = stands;
  stands = movement.hasWork && movement.count == count;
  count = movement.count;
  if (stands && !stood)
    since = now;
}

Time StallWatch::stalledFor(Time now) const {
  return stands ? now - since : Time(0);
}
