//===- LinkedModels.h - the models that are linked into the program -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An executable has one model, whose object has fixed symbols for all its parts
// (runtime/app/LinkedProgram.h). This program has several models:
// utils/check-device prefixes the symbols of each object with the name of its
// model, and generates the table.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICECHECK_LINKEDMODELS_H
#define SLUICE_RUNTIME_DEVICECHECK_LINKEDMODELS_H

#include "runtime/device/cuda/emulator/EmulatedABI.h"
#include "runtime/engine/Engine.h"

#include <string_view>

namespace sluice::devicecheck {

/// A linked model. Lives as long as the process.
struct LinkedModel {
  std::string_view name;
  /// The image for the device that the program was built for.
  engine::ProgramImage image;
  /// The image for the emulator, with which the device is compared; without
  /// programs if the model was linked without them.
  engine::ProgramImage emulated;

  bool canBeEmulated() const { return !emulated.descriptor.empty(); }
};

/// Returns the models in link order; empty if none was linked. Thread-safe.
std::span<const LinkedModel> linkedModels();

/// Returns the model of that name. Error: there is none; the error lists those
/// that exist.
Expected<const LinkedModel *> findModel(std::string_view name);

} // namespace sluice::devicecheck

/// Declares the symbols in the object of the model `prefix`.
#define SLUICE_DECLARE_MODEL(prefix)                                           \
  extern "C" {                                                                 \
  extern const char prefix##_sluice_program_descriptor[];                      \
  extern const uint64_t prefix##_sluice_program_descriptor_size;               \
  extern const char prefix##_sluice_program_tokenizer[];                       \
  extern const uint64_t prefix##_sluice_program_tokenizer_size;                \
  extern const SluiceRowKernelEntry prefix##_sluice_row_kernel_table[];        \
  extern const uint64_t prefix##_sluice_row_kernel_table_size;                 \
  extern const uint8_t prefix##_sluice_program_cuda_image[];                   \
  extern const uint64_t prefix##_sluice_program_cuda_image_size;               \
  extern const SluiceEmulatedKernel prefix##_sluice_program_emulated_table[]   \
      __attribute__((weak));                                                   \
  extern const uint64_t prefix##_sluice_program_emulated_table_size            \
      __attribute__((weak));                                                   \
  }

/// Makes the model's ProgramImage. Its kernels are for a chip, or for the
/// emulator if the object has such kernels.
#define SLUICE_LINKED_IMAGE(prefix)                                            \
  [] {                                                                         \
    static const SluiceEmulatedImage emulated = {                              \
        SLUICE_EMULATED_MAGIC, prefix##_sluice_program_emulated_table,         \
        &prefix##_sluice_program_emulated_table_size                           \
            ? prefix##_sluice_program_emulated_table_size                      \
            : 0};                                                              \
    sluice::engine::ProgramImage image;                                        \
    image.descriptor = {prefix##_sluice_program_descriptor,                    \
                        prefix##_sluice_program_descriptor_size};              \
    image.tokenizer = {                                                        \
        reinterpret_cast<const uint8_t *>(prefix##_sluice_program_tokenizer),  \
        prefix##_sluice_program_tokenizer_size};                               \
    image.rowKernels = {prefix##_sluice_row_kernel_table,                      \
                        prefix##_sluice_row_kernel_table_size};                \
    image.cudaImage =                                                          \
        emulated.count > 0                                                     \
            ? std::span(reinterpret_cast<const uint8_t *>(&emulated),          \
                        sizeof(emulated))                                      \
            : std::span(prefix##_sluice_program_cuda_image,                    \
                        prefix##_sluice_program_cuda_image_size);              \
    return image;                                                              \
  }()

#endif // SLUICE_RUNTIME_DEVICECHECK_LINKEDMODELS_H
