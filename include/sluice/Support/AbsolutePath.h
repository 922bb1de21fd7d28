//===- AbsolutePath.h - absolute paths ------------------------------------===//
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

/// Returns `path` as an absolute path. A relative path begins in `folder`, or
/// in the working folder if `folder` is empty.
inline std::string toAbsolutePath(llvm::StringRef path,
                                  llvm::StringRef folder = "") {
  llvm::SmallString<256> absolute;
  if (!llvm::sys::path::is_absolute(path))
    absolute = folder;
  llvm::sys::path::append(absolute, path);
  // This fails only if the working folder is gone; the path then stays
  // relative.
  (void)llvm::sys::fs::make_absolute(absolute);
  // This keeps "..", since a folder before it may be a symbolic link.
  llvm::sys::path::remove_dots(absolute);
  return absolute.str().str();
}

} // namespace sluice

#endif // SLUICE_SUPPORT_ABSOLUTEPATH_H
