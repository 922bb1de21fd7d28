//===- PackedFileWriter.h - the writer of files of packed weights ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program packs its weights when it is started for the first time; with
// --embed-weights the compiler packs them into the executable:
//
//   AtomicFile out = ...;                    // the linked executable's bytes
//   out.write(...);
//   if (Status s = appendEmbeddedWeights(executable, {}, {}, out); !s.ok())
//     return s;
//   return out.commit();
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_PACKEDFILEWRITER_H
#define SLUICE_RUNTIME_PROGRAM_PACKEDFILEWRITER_H

#include "runtime/base/AtomicFile.h"
#include "runtime/program/MappedModelFiles.h"
#include "runtime/program/PackingOptions.h"
#include "runtime/program/WeightPacker.h"

namespace sluice {

/// Writes the packed file of program number `program` of the executable to
/// `out`, whose position must be a multiple of packedPageBytes. At most two
/// pieces of a weight are in memory at a time. The space on the disk is
/// allocated first. The file begins with zeros until it is complete. Errors: a
/// weight that has changed since compilation, is not finite or cannot be
/// packed; a failed write; cancellation. If `outFailed` is given, it tells
/// whether the error was a failed write.
Status writePackedFile(const ExecutableDescriptor &executable, int64_t program,
                       const MappedModelFiles &files, PackedContents contents,
                       const PackingOptions &options, AtomicFile &out,
                       bool *outFailed = nullptr);

/// Packs into `memory`, which has the layout's totalBytes and is zero, and adds
/// the digests to the layout.
Status packIntoMemory(const ProgramDescriptor &program,
                      const MappedModelFiles &files, PackedFileLayout &layout,
                      const PackingOptions &options, uint8_t *memory);

/// Appends all weights of all programs for CPUs, packed, and the trailer by
/// which the executable finds them. `out` contains the executable so far; its
/// descriptor must have `embedded` set. Errors: those of writePackedFile() and
/// of MappedModelFiles::open().
Status appendEmbeddedWeights(const ExecutableDescriptor &executable,
                             const FileSearch &search,
                             const PackingOptions &options, AtomicFile &out);

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_PACKEDFILEWRITER_H
