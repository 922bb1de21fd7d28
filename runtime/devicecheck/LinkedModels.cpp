//===- LinkedModels.cpp - the models that are linked into the program -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/devicecheck/LinkedModels.h"

namespace sluice::devicecheck {

Expected<const LinkedModel *> findModel(std::string_view name) {
  std::string names;
  for (const LinkedModel &model : linkedModels()) {
    if (model.name == name)
      return &model;
    names += (names.empty() ? "" : ", ") + std::string(model.name);
  }
  return failure("there is no model '", name, "' here: ",
                 names.empty() ? "none was linked" : "there are " + names);
}

} // namespace sluice::devicecheck
