//===- TestProgram.cpp - step functions written by hand -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces the compiler's output, so that the rest can be tested without a
// compiler: it has the symbols of runtime/app/Program.h and step functions of
// TestModel.h's model, linked with the runtime's main(). Unlike an emitted
// program, it reads its descriptor and tokenizer from files beside it
// (<executable>.json, <executable>.tokenizer) before main() runs, so that one
// executable serves all tests. SLUICE_TEST_STEP_MS makes its steps slow.
//
// Its programs: "main" is the whole model; "main.s0" and "main.s1" are two
// stages of it with checkpoints, of which the first has everything but the
// output table; "draft" is the whole model again.
//
//===----------------------------------------------------------------------===//

#include "runtime/app/test/TestStages.h"
#include "runtime/device/cuda/CudaProgramABI.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <iterator>
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

namespace {

/// One step on one thread.
struct TestStep {
  SluiceStep *step;
  int64_t rows;
  int64_t outputs;
  float *arena;
  int64_t rowCapacity;
  int64_t outputCapacity;
  int64_t thread;
  int64_t threads;

  float *h() { return arena; }
  float *place() { return arena + hidden * rowCapacity; }
  float *mixed() { return arena + 2 * hidden * rowCapacity; }
  int64_t rowBegin() { return rows * thread / threads; }
  int64_t rowEnd() { return rows * (thread + 1) / threads; }

  /// Lets dead rows leave; `value` is the tensor that is used later. Returns
  /// false if no row is left.
  bool checkpoint(float *value) {
    int64_t living = sluice_checkpoint(step, thread);
    if (living == 0 || living == rows)
      return living != 0;
    rows = living;
    outputs = sluice_outputs(step);
    sluice_move_rows(step, value, hidden, thread, threads);
    sluice_barrier(step, thread);
    return true;
  }

  void embed() {
    if (stepMicroseconds > 0 && thread == 0)
      ::usleep(stepMicroseconds);
    sluice_embed(step, Embedding, 0, h(), rowBegin(), rowEnd());
    sluice_embed(step, Place, 1, place(), rowBegin(), rowEnd());
    const float *norm = sluice_vector(step, Norm);
    for (int64_t i = rowBegin() * hidden; i < rowEnd() * hidden; ++i)
      h()[i] = h()[i] * norm[i % hidden] + place()[i];
    sluice_barrier(step, thread);
  }

  void attend() {
    sluice_append(step, 0, h(), h(), rows, thread, threads);
    sluice_barrier(step, thread);
    sluice_attend(step, 0, h(), h(), h(), mixed(), &attention, rows, thread,
                  threads);
    sluice_barrier(step, thread);
    for (int64_t i = rowBegin() * hidden; i < rowEnd() * hidden; ++i)
      mixed()[i] += h()[i];
    sluice_barrier(step, thread);
  }

  /// `outputOffset` is where the rows of outputs begin, in floats of a row.
  void score(const float *value, int64_t weight, int64_t outputOffset) {
    float *out = arena + outputOffset * rowCapacity;
    float *quantized = out + quantizedOffset * outputCapacity;
    float *logits = out + logitsOffset * outputCapacity;
    int64_t begin = outputs * thread / threads;
    int64_t end = outputs * (thread + 1) / threads;
    sluice_select_outputs(step, value, out, hidden, begin, end);
    sluice_quantize_rows(step, out, quantized, hidden, begin, end);
    sluice_barrier(step, thread);
    sluice_linear(step, weight, quantized, nullptr, logits, 0, vocab, outputs,
                  thread, threads);
  }
};

void stepWhole(SluiceStep *step, int64_t rows, int64_t outputs, float *arena,
               int64_t rowCapacity, int64_t outputCapacity, int64_t thread,
               int64_t threads) {
  TestStep test = {step,        rows,           outputs, arena,
                   rowCapacity, outputCapacity, thread,  threads};
  test.embed();
  test.attend();
  test.score(test.mixed(), Output, rowFloats);
}

void stepFirst(SluiceStep *step, int64_t rows, int64_t outputs, float *arena,
               int64_t rowCapacity, int64_t outputCapacity, int64_t thread,
               int64_t threads) {
  TestStep test = {step,        rows,           outputs, arena,
                   rowCapacity, outputCapacity, thread,  threads};
  test.embed();
  if (!test.checkpoint(test.h()))
    return;
  test.attend();
  if (!test.checkpoint(test.mixed()))
    return;
  sluice_send_rows(step, test.mixed(), hidden, test.rowBegin(), test.rowEnd());
}

void stepSecond(SluiceStep *step, int64_t rows, int64_t outputs, float *arena,
                int64_t rowCapacity, int64_t outputCapacity, int64_t thread,
                int64_t threads) {
  TestStep test = {step,        rows,           outputs, arena,
                   rowCapacity, outputCapacity, thread,  threads};
  sluice_receive_rows(step, test.h(), hidden, test.rowBegin(), test.rowEnd());
  if (!test.checkpoint(test.h()))
    return;
  test.score(test.h(), /*weight=*/0, secondRowFloats);
}

} // namespace

extern "C" const SluiceProgramEntry sluice_program_table[] = {
    {"main", stepWhole},
    {"main.s0", stepFirst},
    {"main.s1", stepSecond},
    {"draft", stepWhole}};
extern "C" const uint64_t sluice_program_table_size =
    std::size(sluice_program_table);

// There is no code for a GPU.
extern "C" const SluiceGraphEntry sluice_program_graph_table[] = {{}};
extern "C" const uint64_t sluice_program_graph_table_size = 0;
extern "C" const uint8_t sluice_program_cuda_image[] = {0};
extern "C" const uint64_t sluice_program_cuda_image_size = 0;
