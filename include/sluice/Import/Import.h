//===- Import.h - from a model's files to the dialect ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_IMPORT_IMPORT_H
#define SLUICE_IMPORT_IMPORT_H

#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace sluice {

struct ImportOptions {
  /// "q8_0", "q4_0" or "e4m3": the format that the token table and the weights
  /// of linear layers are computed in. Whoever loads them quantises them; they
  /// must be stored as f32, f16 or bf16, or in that very format, in rows of
  /// whole blocks. Other weights stay as they are. Empty: all stay.
  std::string quantize;
};

/// Imports a GGUF file, or a Hugging Face folder where `path` is one, as a
/// module of the phase `model`. Reads headers and a sample of each file for its
/// identity; weights become references. Paths in the module are absolute.
///
/// Errors are one line, "path: place: reason": a path that means another file
/// to the next process (/dev/stdin), everything malformed, unknown or not
/// supported, tensors that are missing, left over or of another shape than the
/// configuration asks for. The module is verified. Loads the dialect into
/// `context`.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(const std::string &path, const ImportOptions &options,
            mlir::MLIRContext *context);

} // namespace sluice

#endif // SLUICE_IMPORT_IMPORT_H
