//===- WireSize.h - sizes of messages -------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many bytes the messages between ranks take, without making them: the
// simulator needs no more, and stays below the layer that encodes them. The
// numbers are those of runtime/comm/Frame.h, whose test compares the two.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_WIRESIZE_H
#define SLUICE_RUNTIME_SIM_WIRESIZE_H

#include "runtime/core/Rows.h"

#include <cstdint>

namespace sluice::sim {

/// Of one step and hop; `rowBytes` are one row's activations, 0 on the way from
/// the head to the first stage.
int64_t wireBytes(const StepFrame &frame, int64_t rowBytes);
int64_t wireBytes(const ResultFrame &frame);
int64_t wireBytes(const EpochMark &mark);

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_WIRESIZE_H
