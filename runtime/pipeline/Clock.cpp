//===- Clock.cpp - the monotonic clock of a machine -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/Clock.h"

#include "runtime/base/FileIdentity.h"

#include <fstream>
#include <string>
#include <unistd.h>

using namespace sluice;

uint64_t pipeline::clockIdentity() {
  std::string name;
  // Linux generates this id anew at each boot, so it distinguishes machines
  // that have the same name.
  if (std::ifstream file("/proc/sys/kernel/random/boot_id");
      !std::getline(file, name)) {
    name.resize(256);
    if (gethostname(name.data(), name.size()) != 0)
      name.clear();
  }
  return fnv1a({reinterpret_cast<const uint8_t *>(name.data()), name.size()});
}
