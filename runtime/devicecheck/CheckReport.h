//===- CheckReport.h - results as soon as they are made -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICECHECK_CHECKREPORT_H
#define SLUICE_RUNTIME_DEVICECHECK_CHECKREPORT_H

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

namespace sluice::devicecheck {

using CheckJson = nlohmann::ordered_json;

/// Returns the number, or a word if it is not finite, since JSON has no such
/// numbers.
inline CheckJson jsonOf(double number) {
  return std::isfinite(number) ? CheckJson(number) : CheckJson("infinite");
}

/// Takes one result. The program writes it as a line to standard output at
/// once, so that it is not lost if the program is killed. A result with
/// "holds": false is a failure.
using Print = std::function<void(const CheckJson &)>;

} // namespace sluice::devicecheck

#endif // SLUICE_RUNTIME_DEVICECHECK_CHECKREPORT_H
