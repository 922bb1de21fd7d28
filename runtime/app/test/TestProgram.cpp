//===- TestProgram.cpp - row kernels written by hand ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for what the compiler emits, so that everything around it can be
// tested without a compiler: the symbols of runtime/app/LinkedProgram.h and the
// row kernels of TestModel.h's model, linked with the runtime's main(). Unlike
// an emitted program, it reads its descriptor and tokenizer from files beside
// it (<executable>.json, <executable>.tokenizer) before main() runs, so that
// one executable serves all tests. SLUICE_TEST_STEP_MS makes its steps slow:
// each thread sleeps that long where it looks up its rows.
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/test/TestStages.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <unistd.h>

// Defined as variables here and declared as constants in LinkedProgram.h, which
// this file must therefore not include.
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

//===----------------------------------------------------------------------===//
// Row kernels
//===----------------------------------------------------------------------===//

static float *floats(void *const *arguments, size_t number) {
  return static_cast<float *>(arguments[number]);
}

/// h = embedding[token] * norm + place[position]
static void embedRows(SluiceStep *step, void *const *arguments, int64_t begin,
                      int64_t end) {
  if (stepMicroseconds > 0 && begin < end)
    ::usleep(stepMicroseconds);
  const float *norm = floats(arguments, 2);
  float *h = floats(arguments, 3);
  float *place = floats(arguments, 4);
  sluice_embed(step, static_cast<const SluiceTable *>(arguments[0]), 0, h,
               begin, end);
  sluice_embed(step, static_cast<const SluiceTable *>(arguments[1]), 1, place,
               begin, end);
  for (int64_t i = begin * hidden; i < end * hidden; ++i)
    h[i] = h[i] * norm[i % hidden] + place[i];
}

static void addRows(SluiceStep *, void *const *arguments, int64_t begin,
                    int64_t end) {
  const float *h = floats(arguments, 0);
  float *mixed = floats(arguments, 1);
  for (int64_t i = begin * hidden; i < end * hidden; ++i)
    mixed[i] += h[i];
}

static void selectRows(SluiceStep *step, void *const *arguments, int64_t begin,
                       int64_t end) {
  float *selected = floats(arguments, 1);
  sluice_select_outputs(step, floats(arguments, 0), selected, hidden, begin,
                        end);
  sluice_quantize_rows(step, selected, arguments[2], hidden, begin, end);
}

static void sendRows(SluiceStep *step, void *const *arguments, int64_t begin,
                     int64_t end) {
  sluice_send_rows(step, floats(arguments, 0), hidden, begin, end);
}

static void receiveRows(SluiceStep *step, void *const *arguments, int64_t begin,
                        int64_t end) {
  sluice_receive_rows(step, floats(arguments, 0), hidden, begin, end);
}

extern "C" const SluiceRowKernelEntry sluice_row_kernel_table[] = {
    {embedKernel, embedRows},
    {addKernel, addRows},
    {selectKernel, selectRows},
    {sendKernel, sendRows},
    {receiveKernel, receiveRows}};
extern "C" const uint64_t sluice_row_kernel_table_size =
    std::size(sluice_row_kernel_table);

// There is no code for a GPU.
extern "C" const uint8_t sluice_program_cuda_image[] = {0};
extern "C" const uint64_t sluice_program_cuda_image_size = 0;
