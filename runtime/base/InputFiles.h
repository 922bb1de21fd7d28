//===- InputFiles.h - the files that this process reads -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file that is read must not be written: a model that is named as its own
// output would be lost. What is read and what is written meet nowhere else, so
// the process as a whole remembers what it reads. MappedFile notes its files by
// itself, and AtomicFile refuses to replace one that was noted.
//
//   noteInput(path);                 // something else than MappedFile reads it
//   Status s = checkIsNoInput(path); // about to be written
//
// Files are told apart by device and inode, so links to a file are the file. A
// note stays until the process ends or the file is gone. Thread-safe.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_INPUTFILES_H
#define SLUICE_RUNTIME_BASE_INPUTFILES_H

#include "runtime/base/Status.h"

#include <string>

namespace sluice {

/// Notes the file at `path` as one that this process reads. Nothing where there
/// is no such file.
void noteInput(const std::string &path);

/// The same for a file that is open.
void noteInput(int fd);

/// Error: the file at `path` was noted.
Status checkIsNoInput(const std::string &path);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_INPUTFILES_H
