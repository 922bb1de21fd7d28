//===- ChannelWaits.h - deadlock check of channels between ranks ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_TRANSFORMS_CHANNELWAITS_H
#define SLUICE_DIALECT_SLUICE_TRANSFORMS_CHANNELWAITS_H

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// Checks the channels of a verified module of the phase `program` that has one
/// `sluice.generate` at a rank. Emits the first of these errors:
///   - a channel does not have exactly one op that sends and one that receives;
///   - ranks wait for each other in a cycle; the error names the cycle;
///   - the channels do not lead from the head through the stages of a pipeline
///     in order and back.
/// A cycle is found by executing the channel operations of the head and the
/// workers with the channels' capacities. Each of them always does the same
/// operations in the same order, so a deadlock does not depend on their speeds,
/// and one execution is enough. The head sends a run and all guesses behind it,
/// as many frames as it ever has in flight (HeadLimits of runtime/core/Head.h),
/// before it takes the first answer.
mlir::LogicalResult verifyChannels(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_DIALECT_SLUICE_TRANSFORMS_CHANNELWAITS_H
