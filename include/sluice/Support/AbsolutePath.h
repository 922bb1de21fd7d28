//===- AbsolutePath.h - paths that hold in any folder ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_SUPPORT_ABSOLUTEPATH_H
#define SLUICE_SUPPORT_ABSOLUTEPATH_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <string>

namespace sluice {

/// `path` as it is seen from the root. A relative one begins in `folder`, or in
/// the working folder where that is empty.
inline std::string toAbsolutePath(llvm::StringRef path,
                                  llvm::StringRef folder = "") {
  llvm::SmallString<256> absolute;
  if (!llvm::sys::path::is_absolute(path))
    absolute = folder;
  llvm::sys::path::append(absolute, path);
  // Fails only where the working folder is gone; the path then stays relative.
  (void)llvm::sys::fs::make_absolute(absolute);
  // Not "..", behind which a link may lead elsewhere.
  llvm::sys::path::remove_dots(absolute);
  return absolute.str().str();
}

} // namespace sluice

#endif // SLUICE_SUPPORT_ABSOLUTEPATH_H
