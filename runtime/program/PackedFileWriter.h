//===- PackedFileWriter.h - making a file of packed weights ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program packs its weights at its first start; the compiler packs them into
// the executable it makes (--embed-weights):
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

/// Writes the packed file of the executable's program number `program` to
/// `out`, whose position must be a multiple of packedPageBytes. Two pieces of
/// a weight are in memory at a time, and the disk's space is taken before the
/// first. It begins with zeros until all of it is there. Errors: a weight that
/// is not the one that was compiled, not finite or cannot be packed, a failed
/// write, cancellation. `outFailed`, when given, tells whether it was the
/// write.
Status writePackedFile(const ExecutableDescriptor &executable, int64_t program,
                       const MappedModelFiles &files, PackedContents contents,
                       const PackingOptions &options, AtomicFile &out,
                       bool *outFailed = nullptr);

/// Packs into `memory`, which has the layout's totalBytes and is zero, and
/// completes the layout with the digests.
Status packIntoMemory(const ProgramDescriptor &program,
                      const MappedModelFiles &files, PackedFileLayout &layout,
                      const PackingOptions &options, uint8_t *memory);

/// Appends all weights of all programs, packed, and the trailer by which the
/// executable finds them. `out` holds the executable so far; its descriptor
/// must have `embedded` set. Errors as writePackedFile's and
/// MappedModelFiles::open's.
Status appendEmbeddedWeights(const ExecutableDescriptor &executable,
                             const FileSearch &search,
                             const PackingOptions &options, AtomicFile &out);

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_PACKEDFILEWRITER_H
