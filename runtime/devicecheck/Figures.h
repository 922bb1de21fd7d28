//===- Figures.h - times of a model's steps -------------------------------===//
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

/// The sizes to measure; tiny() returns those for slow devices.
struct FigureSizes {
  /// Rows of the step that is compared with a step of one row.
  int64_t rows = 32;
  int64_t prompt = 2048; ///< rows of a prompt
  int64_t context = 32;  ///< positions that rows of decoding see
  /// Steps of one row; steps of more rows are half as many.
  int32_t steps = 41;
  int32_t prompts = 5;

  static FigureSizes tiny() { return {4, 16, 2, 3, 1}; }
};

/// Measures steps of one row, of `rows` rows and of a prompt, with dependent
/// launch and the largest carve-out on and off, as far as the device's options
/// allow that, and with a launch for each task. It does so in one process, with
/// one set of weights at a time. Prints a line for each:
///
///   {"part": "figures", "model": ..., "pdl": bool, "carveout": "max",
///    "joined": bool, "what": "one row", "us": median, "minUs": ..., "steps":
///    n, "graphUs": without the host, "hostGapUs": the difference}
///
/// and, for each combination, a line that says whether its tokens are those of
/// the first:
///
///   {..., "what": "tokens", "holds": bool}
///
/// Before the measurements each step runs once with marks, so that the error of
/// a step that does not end names its kernel. Errors: those of the device and
/// of the model.
Status measureFigures(const LinkedModel &model,
                      const std::shared_ptr<cuda::Device> &device,
                      const FigureSizes &sizes, const Print &print);

} // namespace sluice::devicecheck

#endif // SLUICE_RUNTIME_DEVICECHECK_FIGURES_H
