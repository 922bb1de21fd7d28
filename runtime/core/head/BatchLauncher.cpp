//===- BatchLauncher.cpp - launches trees of guesses as a whole -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/head/BatchLauncher.h"

namespace sluice {

void BatchLauncher::launch(Time now) {
  for (HeadRequest &request : requests)
    if (request.active && request.promptSent() && !request.rootInFlight() &&
        request.outstanding == 0 && draft.isComplete(request))
      launchTree(request, now);
}

void BatchLauncher::launchTree(HeadRequest &request, Time now) {
  StepFrame *frame = nullptr;
  for (GuessNode &node : request.tree.nodes()) {
    bool certain = node.parentIndex < 0;
    if (!frame || options.splitRows) {
      frame = &frames.launch();
      frame->marks.push_back(request.mark());
    }
    request.number(node);
    node.launched = true;
    node.slot = slots.giveSlotToBatchRow(now);
    requests.count(request, &SpeculationCounters::launched, !certain);
    ++request.outstanding;
    frame->rows.push_back(request.row(node, certain));
  }
  request.lastCertain = request.tree.root().node;
  request.travelsAlone = requests.active() == 1 && request.outstanding == 1;
  request.launchedAt = now;
}

} // namespace sluice
