//===- AnalysisModels.h - test modules made from shapes -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes modules of phase `model` for tests, as text, from a described shape. A
// module is like that of an imported Llama of the shape.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_UNITTESTS_ANALYSIS_ANALYSISMODELS_H
#define SLUICE_UNITTESTS_ANALYSIS_ANALYSISMODELS_H

#include "runtime/cluster/ModelShape.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace sluice {

/// Returns the shape's module, with matrices in q8_0 and norms in f32. The
/// shape's `tied` applies. `name` is the model's symbol and the prefix of the
/// weights' names.
std::string modelText(const cluster::ModelShape &shape,
                      const std::string &name = "main");

/// Parses text. A parse error fails the test.
mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext *context,
                                        const std::string &text);

/// Runs a pipeline of passes, which is written as for sluice-opt. Returns
/// whether it succeeded.
bool runPasses(mlir::ModuleOp module, const std::string &pipeline);

} // namespace sluice

#endif // SLUICE_UNITTESTS_ANALYSIS_ANALYSISMODELS_H
