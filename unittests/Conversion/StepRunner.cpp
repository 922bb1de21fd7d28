//===- StepRunner.cpp - runner of a compiled model's steps ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepRunner.h"

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/InitAll.h"
#include "sluice/Planning/Passes.h"

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
#include <type_traits>

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

/// Ends the test program, since no later test could work.
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

std::string sluice::test::makeWeightOps(std::string_view weights) {
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
  return text;
}

std::string sluice::test::makeModelAttributes(int64_t vocabSize) {
  return "architecture = \"test\", model_name = \"test\", context_length = " +
         std::to_string(maxPositions) +
         " : i64, vocab_size = " + std::to_string(vocabSize) + " : i64";
}

StepRunner::StepRunner(std::string_view weights, std::string_view body,
                       int64_t width, ir::CpuLevel level)
    : width(width) {
  lower(makeWeightOps(weights) +
            "sluice.model @main(%batch: !sluice.batch) attributes {" +
            makeModelAttributes(width) + "} {\n" + std::string(body) + "\n}\n",
        level);
}

StepRunner::StepRunner(std::string_view module, int64_t width,
                       ir::CpuLevel level)
    : width(width) {
  lower(module, level);
}

void StepRunner::lower(std::string_view text, ir::CpuLevel level) {
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(&getContext()));
  if (!module)
    fail("the module does not parse");
  PassManager passes(&getContext());
  PlanStepOptions plan;
  plan.target = "#sluice.cpu<" + ir::stringifyCpuLevel(level).str() + ">";
  buildPlanPipeline(passes, plan);
  passes.addPass(createConvertSluiceToCPU());
  if (failed(passes.run(*module)))
    fail("the conversion failed");
  for (auto program : module->getOps<ir::ProgramOp>())
    programs.push_back(readProgram(*module, program));
  reset();
  jit = std::make_unique<Jit>(*module);
}

StepRunner::Program StepRunner::readProgram(ModuleOp module, ir::ProgramOp op) {
  Program program;
  program.step = op.getStep().str();
  program.rowFloats = op.getRowFloats();
  program.outputFloats = op.getOutputFloats();
  program.logitsOffset = op.getLogitsOffset();
  program.hiddenSize = op.getHiddenSize();
  program.checkpoints = op.getCheckpoints();
  program.hasOutput = op.getHasOutput();
  SluiceStep &step = program.state;
  for (auto use : op.getWeights().getAsRange<ir::WeightUseAttr>()) {
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
  for (auto table : op.getRopeTables().getAsRange<ir::RopeTableAttr>())
    step.ropeTables.push_back(
        {std::vector<float>(table.getInverse().asArrayRef()),
         static_cast<float>(table.getFactor().convertToDouble())});
  for (Type type : op.getCaches().getAsValueRange<TypeAttr>()) {
    auto cache = cast<ir::CacheType>(type);
    step.caches.push_back({cache.getKvHeads() * cache.getHeadDim(), {}, {}});
  }
  return program;
}

void StepRunner::reset() {
  for (Program &program : programs)
    for (LayerCache &cache : program.state.caches) {
      cache.keys.assign(maxSequences * maxPositions * cache.width, 0.0f);
      cache.values = cache.keys;
    }
}

std::vector<float> StepRunner::runProgram(Program &program, int64_t threads) {
  SluiceStep &step = program.state;
  auto roundUp = [](int64_t count) { return (count + 16) / 16 * 16; };
  int64_t rowCount = step.rows.size(), outputs = step.outputRows.size();
  int64_t rowCapacity = roundUp(rowCount), outputCapacity = roundUp(outputs);
  // The arena is filled with garbage, also behind its end, to check that
  // nothing writes there.
  int64_t size =
      program.rowFloats * rowCapacity + program.outputFloats * outputCapacity;
  constexpr int64_t guard = 64;
  constexpr float garbage = -12345.0f;
  std::vector<float> arena(size + guard, garbage);
  step.sent.assign(rowCount * program.hiddenSize, garbage);

  std::barrier<> barrier(threads);
  step.barrier = &barrier;
  auto *function = jit->lookup<std::remove_pointer_t<SluiceStepFunction>>(
      program.step.c_str());
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
  if (!program.hasOutput)
    return {};
  auto logits = arena.begin() + program.rowFloats * rowCapacity +
                program.logitsOffset * outputCapacity;
  return {logits,
          logits + static_cast<int64_t>(step.outputRows.size()) * width};
}

std::vector<float>
StepRunner::run(std::vector<Row> rows, int64_t threads,
                const std::map<int64_t, std::set<int64_t>> &deaths) {
  std::vector<float> activations, logits;
  int64_t passed = 0;
  for (Program &program : programs) {
    SluiceStep &step = program.state;
    step.rows = rows;
    step.outputRows.clear();
    for (size_t row = 0; row < rows.size(); ++row)
      if (rows[row].isOutput)
        step.outputRows.push_back(row);
    step.received = activations;
    step.deaths.clear();
    for (const auto &[checkpoint, sequences] : deaths)
      step.deaths[checkpoint - passed] = sequences;
    step.checkpoints = 0;
    logits.clear();
    // A step ends at the checkpoint where its last row dies, so later programs
    // do not run.
    if (!rows.empty())
      logits = runProgram(program, threads);
    passed += program.checkpoints;
    rows = step.rows;
    activations = step.sent;
    activations.resize(rows.size() * program.hiddenSize);
  }
  return logits;
}

std::vector<int64_t> StepRunner::getOutputSequences() const {
  std::vector<int64_t> sequences;
  const SluiceStep &step = programs.back().state;
  for (int64_t row : step.outputRows)
    sequences.push_back(step.rows.at(row).sequence);
  return sequences;
}

int64_t StepRunner::countCheckpoints() const {
  int64_t count = 0;
  for (const Program &program : programs)
    count += program.checkpoints;
  return count;
}
