//===- BesideProgram.h - files beside a test's program --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds files in the folder of a test's program. Tests may be copied to another
// machine together with these files; a test whose file is missing is skipped:
//
//   if (std::string why = notBesideProgram({"libFake.so"}); !why.empty())
//     GTEST_SKIP() << why;
//   open(besideProgram("libFake.so"));
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_TEST_BESIDEPROGRAM_H
#define SLUICE_RUNTIME_BASE_TEST_BESIDEPROGRAM_H

#include <filesystem>
#include <initializer_list>
#include <string>

namespace sluice {

/// Returns the path of a file, given relative to the running program's folder.
inline std::string besideProgram(const std::string &name) {
  std::error_code error;
  std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path() / name).lexically_normal();
}

/// Returns which of the files is missing; "" if none is.
inline std::string notBesideProgram(std::initializer_list<std::string> names) {
  std::error_code error;
  for (const std::string &name : names)
    if (!std::filesystem::exists(besideProgram(name), error))
      return besideProgram(name) + " is not here";
  return {};
}

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_TEST_BESIDEPROGRAM_H
