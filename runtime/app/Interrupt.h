//===- Interrupt.h - Ctrl-C as a flag -------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_INTERRUPT_H
#define SLUICE_RUNTIME_APP_INTERRUPT_H

namespace sluice::app {

/// From now on the first SIGINT, SIGTERM or SIGHUP sets a flag, and the second
/// one ends the process as it would have by default.
void catchInterrupts();

/// From now on a write to a pipe that nobody reads any more fails, and does not
/// end the process: a server outlives who reads its log.
void ignoreBrokenPipes();

/// Whether a signal came. Any thread may ask at any time.
bool interrupted();

/// What a shell expects of a program that a signal ended: 128 + its number.
int interruptedExitCode();

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_INTERRUPT_H
