//===- AnalysisModels.h - modules for tests, from shapes ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modules of phase `model` for tests, as text made from a described shape: what
// importing a Llama of that shape would give.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_UNITTESTS_ANALYSIS_ANALYSISMODELS_H
#define SLUICE_UNITTESTS_ANALYSIS_ANALYSISMODELS_H

#include "runtime/cluster/ModelShape.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace sluice {

/// The shape's module, with matrices in q8_0 and norms in f32. `tied` is taken
/// from the shape; `name` is the model's symbol and what weights begin with.
std::string modelText(const cluster::ModelShape &shape,
                      const std::string &name = "main");

/// Parses text; the test fails where that does.
mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext *context,
                                        const std::string &text);

/// Runs a pipeline of passes, as sluice-opt writes it. Whether it succeeded.
bool runPasses(mlir::ModuleOp module, const std::string &pipeline);

} // namespace sluice

#endif // SLUICE_UNITTESTS_ANALYSIS_ANALYSISMODELS_H
