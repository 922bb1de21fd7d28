//===- AttentionParameters.cpp - constants that attention reads -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionParameters.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;

/// Alibi's slopes, as the description of `sluice.attend` has them, times
/// `factor`.
static SmallVector<float> computeSlopes(int64_t heads, double factor) {
  auto power =
      static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  SmallVector<float> slopes;
  for (int64_t i = 1; i <= power; ++i)
    slopes.push_back(factor * std::exp2(-8.0 * i / power));
  // Every other slope of twice as many heads, which lie between these.
  for (int64_t i = 1; power + (i + 1) / 2 <= heads; i += 2)
    slopes.push_back(factor * std::exp2(-8.0 * i / (2 * power)));
  return slopes;
}

/// A private constant without a value yet, under a name of its own.
static LLVM::GlobalOp createConstant(ImplicitLocOpBuilder &b,
                                     SymbolTable &symbols, StringRef name,
                                     Type type, Attribute value,
                                     uint64_t alignment) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(cast<ModuleOp>(symbols.getOp()).getBody());
  auto global =
      LLVM::GlobalOp::create(b, type, /*isConstant=*/true,
                             LLVM::Linkage::Internal, name, value, alignment);
  symbols.insert(global);
  return global;
}

LLVM::GlobalOp AttentionParameters::getSlopes(ImplicitLocOpBuilder &b,
                                              AttendOp op) {
  // A member of a group has some of the heads.
  int64_t first = op.getFirstHeads() ? op.getFirstHeads()->front() : 0;
  auto all = static_cast<int64_t>(op.getAllHeads().value_or(op.getHeads()));
  Attribute key =
      b.getArrayAttr({op.getHeadsAttr(), op.getAlibiAttr(),
                      b.getI64IntegerAttr(all), b.getI64IntegerAttr(first)});
  LLVM::GlobalOp &global = slopes[key];
  if (!global) {
    SmallVector<float> slopesOfAll =
        computeSlopes(all, op.getAlibi()->convertToDouble());
    ArrayRef<float> values =
        ArrayRef<float>(slopesOfAll).slice(first, op.getHeads());
    auto type = LLVM::LLVMArrayType::get(b.getF32Type(), values.size());
    auto tensor = RankedTensorType::get({static_cast<int64_t>(values.size())},
                                        b.getF32Type());
    global = createConstant(b, symbols, "alibi_slopes", type,
                            DenseElementsAttr::get(tensor, values),
                            /*alignment=*/64);
  }
  return global;
}

/// Fills in the fields of `SluiceAttention`, in its order.
LLVM::GlobalOp AttentionParameters::create(ImplicitLocOpBuilder &b,
                                           AttendOp op) {
  LLVM::GlobalOp slopesGlobal = op.getAlibi() ? getSlopes(b, op) : nullptr;
  Type i64 = b.getI64Type(), f32 = b.getF32Type();
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), {i64, i64, i64, i64, f32, f32, pointer});
  LLVM::GlobalOp global = createConstant(b, symbols, "attention", type,
                                         Attribute(), /*alignment=*/8);

  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&global.getInitializerRegion());
  Value value = LLVM::PoisonOp::create(b, type);
  int64_t next = 0;
  auto addField = [&](Value field) {
    value = LLVM::InsertValueOp::create(b, value, field, next++);
  };
  auto addConstant = [&](Type fieldType, TypedAttr attribute) {
    addField(LLVM::ConstantOp::create(b, fieldType, attribute));
  };
  auto cache = cast<CacheType>(op.getCache().getType());
  for (int64_t number :
       {static_cast<int64_t>(op.getHeads()), cache.getKvHeads(),
        cache.getHeadDim(), static_cast<int64_t>(op.getWindow().value_or(0))})
    addConstant(i64, b.getI64IntegerAttr(number));
  double softcap = op.getSoftcap() ? op.getSoftcap()->convertToDouble() : 0.0;
  for (double number : {op.getScale().convertToDouble(), softcap})
    addConstant(f32, b.getF32FloatAttr(static_cast<float>(number)));
  if (slopesGlobal)
    addField(LLVM::AddressOfOp::create(b, slopesGlobal));
  else
    addField(LLVM::ZeroOp::create(b, pointer));
  LLVM::ReturnOp::create(b, value);
  return global;
}

LLVM::GlobalOp AttentionParameters::get(ImplicitLocOpBuilder &b, AttendOp op) {
  Attribute key = b.getArrayAttr(
      {op->getAttrDictionary(), TypeAttr::get(op.getCache().getType())});
  LLVM::GlobalOp &global = parameters[key];
  if (!global)
    global = create(b, op);
  return global;
}
