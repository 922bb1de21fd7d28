//===- Interrupt.h - signals of the user as a flag ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_INTERRUPT_H
#define SLUICE_RUNTIME_BASE_INTERRUPT_H

namespace sluice {

/// Makes the first SIGINT, SIGTERM or SIGHUP set a flag, and the second one end
/// the process as it would by default.
void catchInterrupts();

/// Makes a write to a pipe without a reader fail instead of ending the process,
/// so that a server outlives the reader of its log.
void ignoreBrokenPipes();

/// Returns whether a signal has come. Thread-safe.
bool interrupted();

/// Returns the exit status that shells expect after a signal: 128 + its number.
int interruptedExitCode();

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_INTERRUPT_H
