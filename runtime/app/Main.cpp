//===- Main.cpp - main() of emitted executables ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/Commands.h"
#include "runtime/app/LinkedProgram.h"

#include <cerrno> // program_invocation_short_name
#include <climits>
#include <cstring>
#include <exception>
#include <unistd.h>

using namespace sluice;

const char SLUICE_ABI_SYMBOL = 0;

/// Returns the path of the running program, whatever its argv[0].
static std::string executablePath(const char *called) {
  char path[PATH_MAX];
  ssize_t length = ::readlink("/proc/self/exe", path, sizeof(path));
  return length > 0 ? std::string(path, size_t(length)) : std::string(called);
}

namespace {

void say(const char *text) {
  // A failure to write cannot be handled.
  (void)!::write(STDERR_FILENO, text, std::strlen(text));
}

/// Ends the process with the exception's message. Allocates no memory.
[[noreturn]] void endWithMessage() {
  say(program_invocation_short_name);
  say(": error: it cannot go on: ");
  try {
    if (std::exception_ptr thrown = std::current_exception())
      std::rethrow_exception(thrown);
    say("a thread was left behind");
  } catch (const std::exception &thrown) {
    say(thrown.what());
  } catch (...) {
    say("an unknown exception");
  }
  say("\n");
  _exit(1);
}

/// Installs the handler of uncaught exceptions, for which the C++ library would
/// otherwise abort the process. They mostly mean that memory ran out on a path
/// that cannot fail. It is installed before the program's other objects, which
/// may lack memory too, are made: 101 is the first priority that the
/// implementation leaves.
[[gnu::constructor(101)]] void installLastWords() {
  std::set_terminate(endWithMessage);
}

} // namespace

int main(int argc, char **argv) {
  engine::ProgramImage image;
  image.descriptor = {sluice_program_descriptor,
                      sluice_program_descriptor_size};
  image.tokenizer = {
      reinterpret_cast<const uint8_t *>(sluice_program_tokenizer),
      sluice_program_tokenizer_size};
  image.rowKernels = {sluice_row_kernel_table, sluice_row_kernel_table_size};
  image.cudaImage = {sluice_program_cuda_image, sluice_program_cuda_image_size};
  image.executable = executablePath(argc > 0 ? argv[0] : "");
  return app::runProgram(image, argc, argv);
}
