//===- Import.cpp - from a model's files to the dialect -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/Import.h"

#include "DecoderBuilder.h"
#include "sluice/Import/Support/Quote.h"
#include "sluice/Support/Diagnostics.h"

#include "mlir/IR/Verifier.h"

using namespace sluice;
using namespace sluice::importer;

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
sluice::importModel(const std::string &path, const ImportOptions &options,
                    mlir::MLIRContext *context) {
  std::optional<Format> quantize = parseFormat(options.quantize);
  if (!options.quantize.empty() && quantize != Format::Q8_0 &&
      quantize != Format::Q4_0 && quantize != Format::E4M3)
    return failure("--quantize: ", quote(options.quantize),
                   " is not supported (q8_0, q4_0 and e4m3 are)");
  Expected<ModelFiles> model = ModelFiles::open(path);
  if (!model)
    return model.status();

  context->loadDialect<ir::SluiceDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(context));
  WeightTable weights(*model, quantize, context);
  DecoderBuilder(*model, weights, context).build(*module);
  if (Status s = weights.finish(); !s.ok())
    return s;
  FirstError firstError(context);
  if (mlir::failed(mlir::verify(*module)))
    return firstError.status("the module does not verify").withContext(path);
  return module;
}
