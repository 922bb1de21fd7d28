//===- EmulatedAttentionAvx512.cpp - AVX-512 kernels for other processors -===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/test/EmulatedAvx512.h"

#define attentionAvx512 attentionAvx512Emulated
#include "runtime/device/cpu/attention/AttentionAvx512.cpp"
