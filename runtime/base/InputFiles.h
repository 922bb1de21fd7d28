//===- InputFiles.h - the files that this process reads -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prevents the process from writing a file that it reads: a model that is named
// as its own output would be lost. Readers and writers are in different code,
// so the process as a whole remembers the files that it reads. MappedFile notes
// its files itself, and AtomicFile refuses to replace a noted file.
//
//   noteInput(path);                 // something else than MappedFile reads it
//   Status s = checkIsNoInput(path); // about to be written
//
// Files are identified by device and inode, so links to a file count as the
// file. A note stays until the process ends or the file is gone. Thread-safe.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_INPUTFILES_H
#define SLUICE_RUNTIME_BASE_INPUTFILES_H

#include "runtime/base/Status.h"

#include <string>

namespace sluice {

/// Notes the file at `path` as one that this process reads. Does nothing if
/// there is no such file.
void noteInput(const std::string &path);

/// Notes an open file.
void noteInput(int fd);

/// Fails if the file at `path` was noted.
Status checkIsNoInput(const std::string &path);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_INPUTFILES_H
