//===- Import.h - import of a model's files as MLIR -----------------------===//
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
  /// The format in which the token table and the weights of linear layers are
  /// computed: "q8_0", "q4_0" or "e4m3". They are quantised when they are
  /// loaded, and must be stored as f32, f16 or bf16, or already in this format,
  /// in rows of whole blocks. Other weights keep their format; if empty, all
  /// weights do.
  std::string quantize;
};

/// Imports a GGUF file, or a Hugging Face model if `path` is a folder, as a
/// module of the phase `model`. Reads headers, and samples of each file for its
/// identity; weights become references. Paths in the module are absolute. The
/// module is verified. Loads the dialect into `context`.
///
/// An error is one line, "path: place: reason". Fails on a path that means
/// another file in another process (/dev/stdin), on anything malformed, unknown
/// or not supported, and on tensors that are missing, unused or of another
/// shape than the configuration asks for.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(const std::string &path, const ImportOptions &options,
            mlir::MLIRContext *context);

} // namespace sluice

#endif // SLUICE_IMPORT_IMPORT_H
