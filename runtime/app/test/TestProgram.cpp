//===- TestProgram.cpp - a step function written by hand ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for what the compiler emits, so that everything around it can be
// tested without a compiler: the symbols of runtime/app/Program.h and the step
// function of TestModel.h's model, linked with the runtime's main(). Unlike an
// emitted program, it reads its descriptor and tokenizer from files beside it
// (<executable>.json, <executable>.tokenizer) before main() runs, so that one
// executable serves all tests. SLUICE_TEST_STEP_MS makes its steps slow.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/test/TestModel.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

// Defined as variables here and declared as constants in Program.h, which this
// file must therefore not include.
extern "C" {
char sluice_program_descriptor[1 << 16];
uint64_t sluice_program_descriptor_size = 0;
char sluice_program_tokenizer[1 << 20];
uint64_t sluice_program_tokenizer_size = 0;
}

using namespace sluice::test;

static uint64_t readBeside(const char *suffix, char *buffer, size_t size) {
  char path[PATH_MAX + 16];
  ssize_t length = ::readlink("/proc/self/exe", path, PATH_MAX);
  if (length <= 0)
    return 0;
  std::snprintf(path + length, sizeof(path) - size_t(length), "%s", suffix);
  FILE *file = std::fopen(path, "rb");
  if (!file)
    return 0;
  size_t count = std::fread(buffer, 1, size, file);
  std::fclose(file);
  return count;
}

static useconds_t stepMicroseconds = 0;

__attribute__((constructor)) static void readConstants() {
  if (const char *delay = std::getenv("SLUICE_TEST_STEP_MS"))
    stepMicroseconds = useconds_t(std::atoi(delay)) * 1000;
  sluice_program_descriptor_size = readBeside(
      ".json", sluice_program_descriptor, sizeof(sluice_program_descriptor));
  sluice_program_tokenizer_size = readBeside(
      ".tokenizer", sluice_program_tokenizer, sizeof(sluice_program_tokenizer));
}

static const SluiceAttention attention = {1, 1, hidden, 0, 0.125f, 0, nullptr};

extern "C" void sluice_program_step(SluiceStep *step, int64_t rows,
                                    int64_t outputs, float *arena,
                                    int64_t rowCapacity, int64_t outputCapacity,
                                    int64_t thread, int64_t threads) {
  float *h = arena;
  float *place = arena + hidden * rowCapacity;
  float *mixed = arena + 2 * hidden * rowCapacity;
  float *out = arena + rowFloats * rowCapacity;
  float *quantized = out + quantizedOffset * outputCapacity;
  float *logits = out + logitsOffset * outputCapacity;
  int64_t begin = rows * thread / threads;
  int64_t end = rows * (thread + 1) / threads;

  if (stepMicroseconds > 0 && thread == 0)
    ::usleep(stepMicroseconds);
  sluice_embed(step, Embedding, 0, h, begin, end);
  sluice_embed(step, Place, 1, place, begin, end);
  const float *norm = sluice_vector(step, Norm);
  for (int64_t i = begin * hidden; i < end * hidden; ++i)
    h[i] = h[i] * norm[i % hidden] + place[i];
  sluice_barrier(step, thread);
  sluice_append(step, 0, h, h, rows, thread, threads);
  sluice_barrier(step, thread);
  sluice_attend(step, 0, h, h, h, mixed, &attention, rows, thread, threads);
  sluice_barrier(step, thread);
  for (int64_t i = begin * hidden; i < end * hidden; ++i)
    mixed[i] += h[i];
  sluice_barrier(step, thread);
  int64_t outBegin = outputs * thread / threads;
  int64_t outEnd = outputs * (thread + 1) / threads;
  sluice_select_outputs(step, mixed, out, hidden, outBegin, outEnd);
  sluice_quantize_rows(out, quantized, hidden, outBegin, outEnd);
  sluice_barrier(step, thread);
  sluice_linear(step, Output, quantized, nullptr, logits, outputs, thread,
                threads);
}
