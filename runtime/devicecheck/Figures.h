//===- Figures.h - how long a model's steps take --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICECHECK_FIGURES_H
#define SLUICE_RUNTIME_DEVICECHECK_FIGURES_H

#include "runtime/devicecheck/CheckReport.h"
#include "runtime/devicecheck/LinkedModels.h"

#include <memory>

namespace sluice::devicecheck {

/// What is measured; `tiny()` for devices that compute slowly.
struct FigureSizes {
  int64_t rows = 32;     ///< of the step that is compared with one row's
  int64_t prompt = 2048; ///< rows
  int64_t context = 32;  ///< that the rows of decoding see
  int32_t steps = 41;    ///< of one row; of more rows half as many
  int32_t prompts = 5;

  static FigureSizes tiny() { return {4, 16, 2, 3, 1}; }
};

/// Measures steps of one row, of `rows` rows and of a prompt, with dependent
/// launch and the largest carve-out on and off, as far as the device's options
/// allow them: one process, one set of weights at a time. A line for each:
///
///   {"part": "figures", "model": ..., "pdl": bool, "carveout": "max",
///    "what": "one row", "us": median, "leastUs": ..., "steps": n,
///    "graphUs": without the host, "hostGapUs": the difference}
///
/// and one for each way that says whether its tokens are those of the first:
///
///   {..., "what": "tokens", "holds": bool}
///
/// Before anything is measured each step runs once with marks, so that one
/// without an end is said to stand at a kernel. Errors: the device's, the
/// model's.
Status measureFigures(const LinkedModel &model,
                      const std::shared_ptr<cuda::Device> &device,
                      const FigureSizes &sizes, const Print &print);

} // namespace sluice::devicecheck

#endif // SLUICE_RUNTIME_DEVICECHECK_FIGURES_H
