//===- WireSize.h - sizes of messages -------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes how many bytes messages between ranks take, without encoding them:
// the simulator needs only that, and so stays below the layer that encodes. The
// numbers are those of runtime/comm/Frame.h, whose test compares the two.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_WIRESIZE_H
#define SLUICE_RUNTIME_SIM_WIRESIZE_H

#include "runtime/core/Rows.h"

#include <cstdint>

namespace sluice::sim {

/// Return the size of a message in bytes. `rowBytes` is the size of one row's
/// activations; 0 from the head to the first stage.
int64_t wireBytes(const StepFrame &frame, int64_t rowBytes);
int64_t wireBytes(const ResultFrame &frame);
int64_t wireBytes(const EpochMark &mark);

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_WIRESIZE_H
