//===- SharedLibrary.cpp - functions of a library opened at run time ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/SharedLibrary.h"

#include <dlfcn.h>

using namespace sluice;

Expected<SharedLibrary> SharedLibrary::open(const std::string &path,
                                            Symbols symbols) {
  const int scope = symbols == Symbols::Global ? RTLD_GLOBAL : RTLD_LOCAL;
  if (void *handle = ::dlopen(path.c_str(), RTLD_NOW | scope))
    return SharedLibrary(handle);
  return Status::error(::dlerror());
}

void *SharedLibrary::addressOf(const char *name) const {
  return ::dlsym(handle, name);
}
