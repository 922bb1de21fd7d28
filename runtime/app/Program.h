//===- Program.h - what emitted code gives the runtime --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler emits one object file with these symbols and links it with the
// runtime's archive, which holds main(). Beside them it emits the step function
// that runtime/device/cpu/ProgramABI.h declares.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_PROGRAM_H
#define SLUICE_RUNTIME_APP_PROGRAM_H

#include <cstdint>

extern "C" {

/// The program's ProgramDescriptor as JSON, not terminated.
extern const char sluice_program_descriptor[];
extern const uint64_t sluice_program_descriptor_size;

/// The tokenizer, as text::serializeTokenizer writes it; size 0 when the model
/// has none.
extern const char sluice_program_tokenizer[];
extern const uint64_t sluice_program_tokenizer_size;

} // extern "C"

#endif // SLUICE_RUNTIME_APP_PROGRAM_H
