//===- NativeObject.cpp - native code of the phase kernels ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Target/NativeObject.h"

#include "runtime/device/cpu/CpuProgramABI.h"
#include "sluice/Conversion/Passes.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Support/Diagnostics.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Instrumentation/ThreadSanitizer.h"
#include "llvm/Transforms/Scalar/ScalarizeMaskedMemIntrin.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include <mutex>

using namespace mlir;
using namespace sluice;

static std::unique_ptr<llvm::TargetMachine>
createMachine(const CpuTarget &target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  assert(found && "the X86 target was registered above");
  llvm::TargetOptions options;
  // Forbids LLVM to fuse operations, because a row's bits would then depend on
  // how a loop was unrolled.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, target.llvmCpu, target.llvmFeatures, options, llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Default));
}

/// Adds a constant that is visible to other objects.
static void addGlobal(llvm::Module &module, const llvm::Twine &symbol,
                      llvm::Constant *value) {
  auto *global = new llvm::GlobalVariable(
      module, value->getType(),
      /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage, value, symbol);
  global->setAlignment(llvm::Align(16));
}

/// Adds `extern const char name[]` and `extern const uint64_t name_size`.
static void addBytes(llvm::Module &module, llvm::StringRef name,
                     llvm::StringRef bytes) {
  llvm::LLVMContext &context = module.getContext();
  addGlobal(module, name,
            llvm::ConstantDataArray::getString(context, bytes,
                                               /*AddNull=*/false));
  addGlobal(
      module, name + "_size",
      llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), bytes.size()));
}

/// Refers to the runtime's version symbol, such that neither LLVM nor the
/// linker removes the reference although it is never read.
static void addInterface(llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  auto *symbol = new llvm::GlobalVariable(
      module, llvm::Type::getInt8Ty(context), /*isConstant=*/true,
      llvm::GlobalValue::ExternalLinkage, nullptr, SLUICE_ABI_SYMBOL_NAME);
  auto *reference = new llvm::GlobalVariable(
      module, symbol->getType(), /*isConstant=*/true,
      llvm::GlobalValue::PrivateLinkage, symbol, "program_interface");
  llvm::appendToUsed(module, {reference});
}

namespace {

/// An entry of the object's tables: a name and its function.
struct TableEntry {
  std::string name;
  std::string function;
};

} // namespace

/// Adds `extern const struct { const char *name; void *function; } symbol[]`
/// and its size in entries.
static Status addTable(llvm::Module &module, llvm::StringRef symbol,
                       llvm::ArrayRef<TableEntry> table) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context);
  llvm::StructType *entry = llvm::StructType::get(context, {pointer, pointer});
  llvm::SmallVector<llvm::Constant *> entries;
  for (const TableEntry &line : table) {
    llvm::Function *function = module.getFunction(line.function);
    if (!function || function->isDeclaration())
      return failure("@", line.function, " is not a function");
    llvm::Constant *text =
        llvm::ConstantDataArray::getString(context, line.name);
    auto *name = new llvm::GlobalVariable(
        module, text->getType(), /*isConstant=*/true,
        llvm::GlobalValue::PrivateLinkage, text, "program_name");
    entries.push_back(llvm::ConstantStruct::get(entry, {name, function}));
  }
  auto *type = llvm::ArrayType::get(entry, entries.size());
  addGlobal(module, symbol, llvm::ConstantArray::get(type, entries));
  addGlobal(
      module, symbol + "_size",
      llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), entries.size()));
  return {};
}

/// Returns the row kernels of all steps, each once.
static std::vector<TableEntry> listRowKernels(ModuleOp kernels) {
  llvm::SetVector<StringRef> names;
  for (ir::StepOp step : kernels.getOps<ir::StepOp>())
    for (ir::TaskRowsOp loop : step.getBody().getOps<ir::TaskRowsOp>())
      if (ir::KernelAttr kernel = loop.getKernelAttr();
          kernel && !kernel.isForGpu())
        names.insert(kernel.getName());
  std::vector<TableEntry> table;
  for (StringRef name : names)
    table.push_back({name.str(), name.str()});
  return table;
}

/// Adds the tables of runtime/app/LinkedProgram.h: the row kernels for a CPU,
/// and kernels for the emulator.
static Status addTables(llvm::Module &module, ModuleOp kernels) {
  std::vector<TableEntry> rowKernels = listRowKernels(kernels);
  std::vector<TableEntry> emulated;
  bool isEmulated = false;
  for (gpu::GPUModuleOp of : kernels.getOps<gpu::GPUModuleOp>()) {
    if (of.getTargetsAttr())
      continue;
    isEmulated = true;
    for (auto kernel : of.getOps<gpu::GPUFuncOp>())
      emulated.push_back(
          {kernel.getName().str(), getEmulatedName(kernel.getName())});
  }
  SLUICE_RETURN_IF_ERROR(
      addTable(module, "sluice_row_kernel_table", rowKernels));
  // No code calls the functions by name, and other objects may have functions
  // of the same names.
  for (const TableEntry &kernel : rowKernels)
    module.getFunction(kernel.function)
        ->setLinkage(llvm::GlobalValue::InternalLinkage);
  if (!isEmulated)
    return {};
  return addTable(module, "sluice_program_emulated_table", emulated);
}

/// Limits generated code to the target. Without it, LLVM would use 256-bit
/// vectors even if the target has wider ones.
static void setTargetAttributes(llvm::Module &module, const CpuTarget &target) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.llvmCpu);
    function.addFnAttr("target-features", target.llvmFeatures);
    function.addFnAttr("prefer-vector-width",
                       target.isa == cpu::Isa::Avx2 ? "256" : "512");
  }
}

namespace {

/// What passes of LLVM need to run on a module.
struct Analyses {
  /// `machine` may be null; passes then assume no target.
  explicit Analyses(llvm::TargetMachine *machine) : builder(machine) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(sccs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, sccs, modules);
  }

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
};

} // namespace

/// Has all functions tell ThreadSanitizer what they read and write. It knows
/// accesses of up to 16 bytes without masks, so others are split first; for
/// that the target must not be known, since it has the others.
static void sanitizeThreads(llvm::Module &module) {
  Analyses analyses(/*machine=*/nullptr);
  llvm::FunctionPassManager functions;
  functions.addPass(llvm::ScalarizeMaskedMemIntrinPass());
  functions.addPass(llvm::ScalarizerPass(
      llvm::ScalarizerPassOptions{.ScalarizeLoadStore = true}));
  functions.addPass(llvm::ThreadSanitizerPass());
  llvm::ModulePassManager passes;
  passes.addPass(llvm::ModuleThreadSanitizerPass());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr(llvm::Attribute::SanitizeThread);
  passes.run(module, analyses.modules);
}

static void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  Analyses analyses(&machine);
  analyses.builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(module, analyses.modules);
}

/// Lowers the host's code. Kernels for chips are in the image, and all else
/// that the runtime knows of the model is in the descriptor.
static LogicalResult lowerToLLVM(ModuleOp module) {
  for (Operation &op : llvm::make_early_inc_range(*module.getBody())) {
    auto kernels = dyn_cast<gpu::GPUModuleOp>(op);
    if (isa<ir::SluiceDialect>(op.getDialect()) ||
        (kernels && kernels.getTargetsAttr()))
      op.erase();
  }
  PassManager passes(module.getContext());
  buildKernelsToLLVMPipeline(passes);
  return passes.run(module);
}

Expected<llvm::SmallVector<char, 0>>
sluice::emitObject(ModuleOp kernels, const ProgramData &data,
                   const CpuTarget &target) {
  OwningOpRef<ModuleOp> lowered = kernels.clone();
  FirstError firstError(kernels.getContext());
  if (failed(lowerToLLVM(*lowered)))
    return firstError.status("lowering to LLVM IR failed");

  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(*lowered, context, "sluice");
  if (!module)
    return firstError.status("translation to LLVM IR failed");

  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target);
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  if (target.sanitizesThreads)
    sanitizeThreads(*module);
  setTargetAttributes(*module, target);
  addBytes(*module, "sluice_program_descriptor", data.descriptor);
  addBytes(*module, "sluice_program_tokenizer", data.tokenizer);
  addBytes(*module, "sluice_program_cuda_image", data.cudaImage);
  SLUICE_RETURN_IF_ERROR(addTables(*module, kernels));
  addInterface(*module);
  optimise(*module, *machine);

  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager emitter;
  if (machine->addPassesToEmitFile(emitter, stream, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return failure("LLVM cannot write objects for ", target.llvmCpu);
  emitter.run(*module);
  return object;
}
