//===- StepRunner.cpp - compiles a model and runs steps of it -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepRunner.h"

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/InitAll.h"

#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/TargetSelect.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <functional>
#include <random>
#include <thread>

using namespace mlir;
using namespace sluice;
using namespace sluice::test;

std::vector<float> sluice::test::makeValues(int64_t count, unsigned seed,
                                            float scale) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = (generator() / 2147483648.0f - 1.0f) * scale;
  return values;
}

MLIRContext &sluice::test::getContext() {
  static std::unique_ptr<MLIRContext> context = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    DialectRegistry registry;
    sluice::registerAllDialects(registry);
    auto made = std::make_unique<MLIRContext>(registry);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

//===----------------------------------------------------------------------===//
// Jit
//===----------------------------------------------------------------------===//

/// Ends the test program: nothing after it could work.
[[noreturn]] static void fail(const std::string &what) {
  ADD_FAILURE() << what;
  std::abort();
}

Jit::Jit(ModuleOp kernels) {
  PassManager passes(kernels.getContext());
  buildKernelsToLLVMPipeline(passes);
  if (failed(passes.run(kernels)))
    fail("lowering failed");
  for (Operation &op : llvm::make_early_inc_range(*kernels.getBody()))
    if (isa<ir::SluiceDialect>(op.getDialect()))
      op.erase();

  ExecutionEngineOptions options;
  auto optimize = makeOptimizingTransformer(2, 0, nullptr);
  options.transformer = optimize;
  llvm::Expected<std::unique_ptr<ExecutionEngine>> made =
      ExecutionEngine::create(kernels, options);
  if (!made)
    fail(llvm::toString(made.takeError()));
  engine = std::move(*made);
  engine->registerSymbols([](llvm::orc::MangleAndInterner interner) {
    llvm::orc::SymbolMap symbols;
    for (const RuntimeFunction &function : getRuntimeFunctions())
      symbols[interner(function.name)] = {
          llvm::orc::ExecutorAddr::fromPtr(function.address),
          llvm::JITSymbolFlags::Exported};
    return symbols;
  });
}

void *Jit::find(const char *name) {
  llvm::Expected<void *> found = engine->lookup(name);
  if (!found)
    fail(llvm::toString(found.takeError()));
  return *found;
}

//===----------------------------------------------------------------------===//
// StepRunner
//===----------------------------------------------------------------------===//

static std::string makeModule(std::string_view weights, std::string_view body,
                              int64_t width) {
  std::string text = "sluice.file @f path \"none\" size 1099511627776 "
                     "identity \"0123456789abcdef\"\n";
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(weights).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    auto [name, type] = line.trim().split(": ");
    if (type.empty())
      continue;
    llvm::StringRef format = "f32";
    if (type.consume_back(">"))
      format = type.rsplit("<").second;
    text += ("sluice.weight @" + name + " in @f at 0 stored " + format +
             " : tensor<" + type + (format == "f32" ? ">" : ">>") + "\n")
                .str();
  }
  text += "sluice.model @main(%batch: !sluice.batch) attributes {"
          "architecture = \"test\", model_name = \"test\", context_length = " +
          std::to_string(maxPositions) +
          " : i64, vocab_size = " + std::to_string(width) + " : i64} {\n";
  return text + std::string(body) + "\n}\n";
}

StepRunner::StepRunner(std::string_view weights, std::string_view body,
                       int64_t width, ir::CpuLevel level)
    : width(width) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      makeModule(weights, body, width), ParserConfig(&getContext()));
  if (!module)
    fail("the model does not parse");
  PassManager passes(&getContext());
  passes.addPass(createConvertSluiceToCPU({level}));
  if (failed(passes.run(*module)))
    fail("the conversion failed");
  readProgram(*module);
  jit = std::make_unique<Jit>(*module);
}

void StepRunner::readProgram(ModuleOp module) {
  auto program = *module.getOps<ir::ProgramOp>().begin();
  rowFloats = program.getRowFloats();
  outputFloats = program.getOutputFloats();
  logitsOffset = program.getLogitsOffset();
  for (auto use : program.getWeights().getAsRange<ir::WeightUseAttr>()) {
    auto weight = module.lookupSymbol<ir::WeightOp>(use.getWeight());
    RankedTensorType type = weight.getTensorType();
    Matrix matrix;
    matrix.cols = type.getShape().back();
    matrix.rows = type.getRank() == 2 ? type.getDimSize(0) : 1;
    matrix.isQuantized = isa<ir::BlockType>(type.getElementType());
    matrix.isTransposed = use.getTransposed();
    std::string name = use.getWeight().getValue().str();
    auto seed = static_cast<unsigned>(std::hash<std::string>()(name));
    matrix.values = makeValues(matrix.rows * matrix.cols, seed);
    values[name] = matrix;
    step.weights.push_back(std::move(matrix));
  }
  for (auto table : program.getRopeTables().getAsRange<ir::RopeTableAttr>())
    step.ropeTables.push_back(
        {std::vector<float>(table.getInverse().asArrayRef()),
         static_cast<float>(table.getFactor().convertToDouble())});
  for (Type type : program.getCaches().getAsValueRange<TypeAttr>()) {
    auto cache = cast<ir::CacheType>(type);
    step.caches.push_back({cache.getKvHeads() * cache.getHeadDim(), {}, {}});
  }
  reset();
}

void StepRunner::reset() {
  for (LayerCache &cache : step.caches) {
    cache.keys.assign(maxSequences * maxPositions * cache.width, 0.0f);
    cache.values = cache.keys;
  }
}

std::vector<float> StepRunner::run(std::vector<Row> rows, int64_t threads) {
  step.rows = std::move(rows);
  step.outputRows.clear();
  for (size_t row = 0; row < step.rows.size(); ++row)
    if (step.rows[row].isOutput)
      step.outputRows.push_back(row);
  auto roundUp = [](int64_t count) { return (count + 16) / 16 * 16; };
  int64_t rowCount = step.rows.size(), outputs = step.outputRows.size();
  int64_t rowCapacity = roundUp(rowCount), outputCapacity = roundUp(outputs);
  // Garbage, and some after the end to see that it stays.
  int64_t size = rowFloats * rowCapacity + outputFloats * outputCapacity;
  constexpr int64_t guard = 64;
  constexpr float garbage = -12345.0f;
  std::vector<float> arena(size + guard, garbage);

  std::barrier<> barrier(threads);
  step.barrier = &barrier;
  auto *function =
      jit->lookup<decltype(sluice_program_step)>("sluice_program_step");
  auto work = [&](int64_t thread) {
    function(&step, rowCount, outputs, arena.data(), rowCapacity,
             outputCapacity, thread, threads);
  };
  std::vector<std::thread> others;
  for (int64_t thread = 1; thread < threads; ++thread)
    others.emplace_back(work, thread);
  work(0);
  for (std::thread &other : others)
    other.join();

  for (int64_t i = 0; i < guard; ++i)
    EXPECT_EQ(arena[size + i], garbage);
  auto logits =
      arena.begin() + rowFloats * rowCapacity + logitsOffset * outputCapacity;
  return {logits, logits + outputs * width};
}
