//===- Link.cpp - linking of objects into executables ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Target/Link.h"

#include "runtime/device/cpu/CpuProgramABI.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <vector>

using namespace sluice;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static Expected<std::string> findDriver() {
  std::vector<std::string> names = {"c++", "g++", "clang++", "clang++-22"};
  if (const char *chosen = std::getenv("CXX"); chosen && *chosen)
    names = {chosen};
  for (const std::string &name : names)
    if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(name);
        found && fs::can_execute(*found))
      return *found;
  return failure("cannot link: no C++ compiler driver found (tried ",
                 llvm::join(names, ", "), ")");
}

/// Makes a file in the temporary folder, which is removed if a signal ends the
/// process.
static Expected<std::string> makeTemporary(const char *suffix) {
  llvm::SmallString<128> name;
  if (std::error_code error = fs::createTemporaryFile("sluice", suffix, name))
    return failure("cannot make a temporary file: ", error.message());
  llvm::sys::RemoveFileOnSignal(name);
  return name.str().str();
}

/// Returns an error of one line for the linker's output.
static std::string explain(const std::string &logFile, llvm::StringRef driver,
                           llvm::StringRef runtimeArchive) {
  std::string failed = ("linking with " + driver + " failed: ").str();
  auto log = llvm::MemoryBuffer::getFile(logFile);
  if (!log)
    return failed + "no message";
  llvm::StringRef text = (*log)->getBuffer();
  if (text.contains("`" SLUICE_ABI_SYMBOL_NAME "'") ||
      text.contains(": " SLUICE_ABI_SYMBOL_NAME "\n"))
    return (runtimeArchive + ": is not a runtime with program interface " +
            llvm::Twine(SLUICE_ABI_VERSION) +
            ", which this sluice-compile emits code for")
        .str();
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines)
    if (line.contains("error") || line.contains("undefined") ||
        line.contains("cannot") || line.contains("No space"))
      return failed + line.str();
  return failed + (lines.empty() ? "no message" : lines.front().str());
}

Status sluice::linkExecutable(std::span<const char> object,
                              const std::string &runtimeArchive, bool isForGpus,
                              bool sanitizesThreads,
                              const std::string &output) {
  Expected<std::string> driver = findDriver();
  if (!driver)
    return driver.status();
  Expected<std::string> objectFile = makeTemporary("o");
  if (!objectFile)
    return objectFile.status();
  llvm::FileRemover removeObject(*objectFile);
  Expected<std::string> log = makeTemporary("log");
  if (!log)
    return log.status();
  llvm::FileRemover removeLog(*log);

  std::error_code error;
  llvm::raw_fd_ostream stream(*objectFile, error);
  stream.write(object.data(), object.size());
  stream.close();
  if (!error)
    error = stream.error();
  stream.clear_error();
  if (error)
    return failure(*objectFile, ": cannot write: ", error.message());

  // The archive's main() starts the program, so it is named as undefined to
  // pull it in. Libraries that a bare system may lack are linked statically.
  std::vector<llvm::StringRef> arguments = {*driver,
                                            "-o",
                                            output,
                                            "-Wl,--undefined=main",
                                            *objectFile,
                                            runtimeArchive,
                                            "-static-libstdc++",
                                            "-static-libgcc",
                                            "-l:libpcre2-8.a",
                                            "-l:libutf8proc.a",
                                            "-l:libyaml-cpp.a",
                                            "-l:libssl.a",
                                            "-l:libcrypto.a",
                                            "-lpthread",
                                            "-lm",
                                            "-Wl,--gc-sections"};
  if (sanitizesThreads)
    arguments.push_back("-fsanitize=thread");
  // See KernelImages.h.
  if (!isForGpus)
    arguments.push_back(
        "-Wl,--defsym=sluice_kernel_images=sluice_no_kernel_images");
  std::optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(""), llvm::StringRef(*log), llvm::StringRef(*log)};
  std::string message;
  int exitCode = llvm::sys::ExecuteAndWait(*driver, arguments, std::nullopt,
                                           redirects, 0, 0, &message);
  if (!message.empty())
    return failure("linking with ", *driver, " failed: ", message);
  if (exitCode != 0)
    return failure(explain(*log, *driver, runtimeArchive));
  return {};
}

Expected<std::string> sluice::findRuntimeArchive(bool isEmulated) {
  std::string program = fs::getMainExecutable(
      "sluice-compile", reinterpret_cast<void *>(&findRuntimeArchive));
  llvm::SmallString<256> archive(path::parent_path(path::parent_path(program)));
  path::append(archive, "lib",
               isEmulated ? "libsluice_runtime_emulated.a"
                          : "libsluice_runtime.a");
  if (!fs::exists(archive))
    return failure(archive.str().str(), ": the runtime's archive is missing");
  return archive.str().str();
}
