//===- StepRunner.cpp - runner of a compiled model's steps ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepRunner.h"

#include "lib/Target/StepPlanBuilder.h"
#include "runtime/core/RowMoves.h"
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

using namespace mlir;
using namespace sluice;
using namespace sluice::test;

/// Numbers between -1 and 1 that depend on `seed` alone.
static std::vector<float> makeValues(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = generator() / 2147483648.0f - 1.0f;
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
    auto add = [&](const char *name, auto *function) {
      symbols[interner(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                 llvm::JITSymbolFlags::Exported};
    };
    add("sluice_receive_rows", sluice_receive_rows);
    add("sluice_send_rows", sluice_send_rows);
    add("sluice_embed", sluice_embed);
    add("sluice_quantize_rows", sluice_quantize_rows);
    add("sluice_rope_table", sluice_rope_table);
    add("sluice_select_outputs", sluice_select_outputs);
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
    readProgram(*module, program);
  jit = std::make_unique<Jit>(*module);
  for (cpu::CpuProgram &program : programs)
    for (const std::string &kernel : program.step.kernelNames)
      program.kernels.push_back(
          jit->lookup<std::remove_pointer_t<SluiceRowKernel>>(kernel.c_str()));
  reset();
}

StepRunner::~StepRunner() = default;

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

uint8_t *StepRunner::allocate(uint64_t bytes) {
  storage.push_back(std::make_unique<uint8_t[]>(bytes + cpu::packedAlignment));
  auto address = reinterpret_cast<uintptr_t>(storage.back().get());
  return reinterpret_cast<uint8_t *>((address + cpu::packedAlignment - 1) /
                                     cpu::packedAlignment *
                                     cpu::packedAlignment);
}

static Format getFormat(const Matrix &matrix) {
  return matrix.isQuantized ? Format::Q8_0 : Format::F32;
}

static cpu::LinearSpec getSpec(const Matrix &matrix) {
  Format format = getFormat(matrix);
  if (matrix.isTransposed)
    return {matrix.cols, matrix.rows, format, format, true};
  return {matrix.rows, matrix.cols, format, format, false};
}

cpu::CpuWeight StepRunner::makeWeight(ModuleOp module, ir::WeightUseAttr use) {
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

  Format format = getFormat(matrix);
  uint64_t rowSize = *rowBytes(format, matrix.cols);
  uint8_t *stored = allocate(rowSize * matrix.rows);
  for (int64_t row = 0; row < matrix.rows; ++row) {
    float *floats = matrix.values.data() + row * matrix.cols;
    quantizeRow(format, floats, stored + row * rowSize, matrix.cols);
    dequantizeRow(format, stored + row * rowSize, floats, matrix.cols);
  }
  values[name] = matrix;
  switch (use.getUse()) {
  case ir::WeightUseKind::Vector:
    return std::span<const float>(reinterpret_cast<const float *>(stored),
                                  matrix.cols);
  case ir::WeightUseKind::Rows:
    return cpu::EmbeddingTable{format, stored, matrix.rows, matrix.cols};
  case ir::WeightUseKind::Linear:
    break;
  }
  cpu::LinearSpec spec = getSpec(matrix);
  uint8_t *packed = allocate(*cpu::packedBytes(spec));
  cpu::packPanels(spec, stored, packed, 0, cpu::panelCount(spec.outFeatures));
  return cpu::packedWeight(spec, packed);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

void StepRunner::readProgram(ModuleOp module, ir::ProgramOp op) {
  cpu::CpuProgram &program = programs.emplace_back();
  program.hasEmbedding = op.getHasEmbedding();
  program.hasOutput = op.getHasOutput();
  program.contextLength = op.getContextLength();
  program.vocabSize = op.getVocabSize();
  program.hiddenSize = op.getHiddenSize();
  program.rowFloats = op.getRowFloats();
  program.outputFloats = op.getOutputFloats();
  program.logitsOffset = op.getLogitsOffset();
  // The runtime's own kernels, whatever the row kernels are for.
  program.isa = cpu::Isa::Avx2;
  for (auto use : op.getWeights().getAsRange<ir::WeightUseAttr>())
    program.weights.push_back(makeWeight(module, use));
  for (auto table : op.getRopeTables().getAsRange<ir::RopeTableAttr>())
    program.ropeTables.push_back(
        {std::vector<float>(table.getInverse().asArrayRef()),
         static_cast<float>(table.getFactor().convertToDouble())});
  for (Type type : op.getCaches().getAsValueRange<TypeAttr>()) {
    auto cache = cast<ir::CacheType>(type);
    program.caches.push_back({cache.getKvHeads(), cache.getHeadDim()});
  }
  program.step =
      buildStepPlan(module.lookupSymbol<ir::StepOp>(op.getStep()), op);
  checkpoints += op.getCheckpoints();
}

void StepRunner::reset(int64_t threads) {
  int64_t count = maxSequences * CachePages::pagesFor(maxPositions);
  executors.clear();
  pages.emplace(CachePages::create({count, maxSequences, maxPositions}).take());
  // Sequences are numbered from 0 in the order in which they are opened.
  for (int64_t sequence = 0; sequence < maxSequences; ++sequence)
    if (*pages->open() != sequence)
      fail("a sequence has another number than its rows");
  cpu::CpuExecutorOptions limits;
  limits.rows = limits.outputs = maxRows;
  limits.pages = count;
  limits.threads = threads;
  for (const cpu::CpuProgram &program : programs) {
    auto made = cpu::CpuExecutor::create(program, limits);
    if (!made)
      fail(made.status().message());
    executors.push_back(made.take());
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {

/// Lets the rows of some sequences leave at each checkpoint.
class Deaths : public device::CheckpointHandler {
public:
  Deaths(StepBatch &batch, const std::map<int64_t, std::set<int64_t>> &deaths)
      : batch(batch), deaths(deaths) {}

  std::span<const RowMove> checkpoint() override {
    moves.clear();
    auto found = deaths.find(passed++);
    if (found == deaths.end())
      return {};
    std::vector<uint8_t> alive;
    for (SequenceId sequence : batch.sequences())
      alive.push_back(!found->second.contains(sequence));
    int64_t remaining = planCompaction(alive, moves);
    if (remaining < batch.rows())
      batch.keep(alive, moves, remaining);
    return moves;
  }

  bool findDead(std::span<uint8_t>) override { return false; }
  std::span<const RowMove> leave(std::span<const uint8_t>, Time) override {
    return {};
  }
  std::span<const RowMove> dropOrphans() override { return {}; }

private:
  StepBatch &batch;
  const std::map<int64_t, std::set<int64_t>> &deaths;
  std::vector<RowMove> moves;
  int64_t passed = 0;
};

} // namespace

void StepRunner::fillBatch(const std::vector<TestRow> &rows) {
  batch.clear();
  for (const TestRow &row : rows) {
    auto sequence = static_cast<SequenceId>(row.sequence);
    Status status = batch.add(sequence, row.position,
                              static_cast<int32_t>(row.token), row.isOutput);
    if (status.ok() && pages->length(sequence) <= row.position)
      status = pages->grow(sequence, row.position + 1);
    if (!status.ok())
      fail(status.message());
  }
}

std::vector<float>
StepRunner::run(const std::vector<TestRow> &rows,
                const std::map<int64_t, std::set<int64_t>> &deaths) {
  fillBatch(rows);
  Deaths handler(batch, deaths);
  std::vector<uint8_t> received, sent;
  for (size_t i = 0; i < programs.size() && batch.rows() > 0; ++i) {
    auto rowSize = static_cast<size_t>(programs[i].hiddenSize) * sizeof(float);
    sent.assign(rowSize * static_cast<size_t>(batch.rows()), 0xff);
    std::vector<const uint8_t *> incoming;
    for (int64_t row = 0; i > 0 && row < batch.rows(); ++row)
      incoming.push_back(received.data() + row * rowSize);
    device::StepInput input;
    input.batch = &batch;
    input.pages = &*pages;
    input.incoming = incoming;
    input.outgoing = sent;
    input.checkpoints = &handler;
    if (Status status = executors[i]->execute(input); !status.ok())
      fail(status.message());
    received = sent;
  }
  std::vector<float> logits;
  for (int64_t output = 0; output < batch.outputs(); ++output) {
    std::span<const float> each = executors.back()->logits(output);
    logits.insert(logits.end(), each.begin(), each.begin() + width);
  }
  return logits;
}

std::vector<int64_t> StepRunner::getOutputSequences() const {
  std::vector<int64_t> sequences;
  for (int32_t row : batch.outputRows())
    sequences.push_back(batch.sequences()[row]);
  return sequences;
}
