//===- EmulatedLinearAvx512Vnni.cpp - VNNI kernels for other processors ---===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/test/EmulatedAvx512.h"

#define linearAvx512Vnni linearAvx512VnniEmulated
#include "runtime/device/cpu/linear/LinearAvx512Vnni.cpp"
