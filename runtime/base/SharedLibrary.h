//===- SharedLibrary.h - functions of a library opened at run time --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<SharedLibrary> library = SharedLibrary::open("libcuda.so.1");
//   if (Status s = library->find("cuInit", functions.init); !s.ok()) ...
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_SHAREDLIBRARY_H
#define SLUICE_RUNTIME_BASE_SHAREDLIBRARY_H

#include "runtime/base/Status.h"

#include <string>
#include <type_traits>

namespace sluice {

/// A library that is opened at run time. It is never closed, because threads
/// and exit handlers of such libraries live as long as the process.
class SharedLibrary {
public:
  enum class Symbols {
    Local,
    Global ///< visible to libraries that are loaded later
  };

  /// Fails with the loader's message.
  static Expected<SharedLibrary> open(const std::string &path,
                                      Symbols symbols = Symbols::Local);

  /// Sets a pointer to the library's function `name`. On failure, the error is
  /// "has no NAME", and the pointer is null.
  template <typename T> Status find(const char *name, T *&pointer) const {
    pointer = reinterpret_cast<T *>(addressOf(name));
    return pointer ? Status() : failure("has no ", name);
  }

private:
  explicit SharedLibrary(void *handle) : handle(handle) {}
  void *addressOf(const char *name) const;

  void *handle;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_SHAREDLIBRARY_H
