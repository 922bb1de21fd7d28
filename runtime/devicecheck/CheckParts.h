//===- CheckParts.h - the checks of a device ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICECHECK_CHECKPARTS_H
#define SLUICE_RUNTIME_DEVICECHECK_CHECKPARTS_H

#include "runtime/device/cuda/driver/Driver.h"
#include "runtime/devicecheck/CheckReport.h"
#include "runtime/devicecheck/LinkedModels.h"

#include <memory>
#include <span>
#include <string_view>

namespace sluice::devicecheck {

/// The input of a part.
struct PartInput {
  std::shared_ptr<cuda::Device> device; ///< has been entered
  bool isTiny = false;                  ///< small shapes, few repeats
  std::string_view part;                ///< the part's name
  /// For parts that need a model.
  const LinkedModel *model = nullptr;
  /// The arguments after the part's own name.
  std::span<char *const> rest;
};

struct Part {
  const char *name;
  const char *description; ///< one line
  bool wantsModel;
  Status (*run)(const PartInput &input, const Print &print);
};

/// Returns all parts, in the order in which the usage names them.
std::span<const Part> parts();

} // namespace sluice::devicecheck

#endif // SLUICE_RUNTIME_DEVICECHECK_CHECKPARTS_H
