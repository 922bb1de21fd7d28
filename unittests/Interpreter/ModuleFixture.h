//===- ModuleFixture.h - modules with weights for tests -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_UNITTESTS_INTERPRETER_MODULEFIXTURE_H
#define SLUICE_UNITTESTS_INTERPRETER_MODULEFIXTURE_H

#include "runtime/base/FileIdentity.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <unistd.h>

namespace sluice::interpreter {

/// Parses modules whose weights are in a temporary file, which is removed when
/// the test ends.
class ModuleFixture : public testing::Test {
protected:
  ModuleFixture() {
    context.loadDialect<ir::SluiceDialect>();
    path = testing::TempDir() + "sluice-weights-" + std::to_string(getpid());
  }
  ~ModuleFixture() override { std::remove(path.c_str()); }

  void writeFile(std::span<const uint8_t> bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    header = "sluice.file @f0 path \"" + path + "\" size " +
             std::to_string(bytes.size()) + " identity \"" +
             fileIdentity(bytes) + "\"\n";
  }
  void writeFile(const std::vector<float> &values) {
    writeFile({reinterpret_cast<const uint8_t *>(values.data()),
               values.size() * sizeof(float)});
  }

  /// Parses `text`, with the `sluice.file @f0` of the last written file before
  /// it.
  mlir::ModuleOp parse(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(header + text, &context,
                                                     "test.mlir");
    EXPECT_TRUE(module) << header + text;
    return *module;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string path;
  std::string header;
};

} // namespace sluice::interpreter

#endif // SLUICE_UNITTESTS_INTERPRETER_MODULEFIXTURE_H
