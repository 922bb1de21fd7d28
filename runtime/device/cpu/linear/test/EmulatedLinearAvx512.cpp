//===- EmulatedLinearAvx512.cpp - AVX-512 kernels for other processors ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/test/EmulatedAvx512.h"

#define linearAvx512 linearAvx512Emulated
#include "runtime/device/cpu/linear/LinearAvx512.cpp"
