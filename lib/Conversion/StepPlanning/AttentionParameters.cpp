//===- AttentionParameters.cpp - constants that attention reads -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionParameters.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;

/// Creates a private constant with a unique name.
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
                                              TaskAttendOp op) {
  // A member of a group has a part of the heads.
  auto first = static_cast<int64_t>(op.getFirstHead().value_or(0));
  auto all = static_cast<int64_t>(op.getAllHeads().value_or(op.getHeads()));
  Attribute key =
      b.getArrayAttr({op.getHeadsAttr(), op.getAlibiAttr(),
                      b.getI64IntegerAttr(all), b.getI64IntegerAttr(first)});
  LLVM::GlobalOp &global = slopes[key];
  if (!global) {
    SmallVector<float> values = op.getSlopes();
    auto type = LLVM::LLVMArrayType::get(b.getF32Type(), values.size());
    auto tensor = RankedTensorType::get({static_cast<int64_t>(values.size())},
                                        b.getF32Type());
    global = createConstant(b, symbols, "alibi_slopes", type,
                            DenseElementsAttr::get(tensor, ArrayRef(values)),
                            /*alignment=*/64);
  }
  return global;
}

/// Emits the fields of `SluiceAttention`, in its order.
LLVM::GlobalOp AttentionParameters::create(ImplicitLocOpBuilder &b,
                                           TaskAttendOp op) {
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

LLVM::GlobalOp AttentionParameters::get(ImplicitLocOpBuilder &b,
                                        TaskAttendOp op) {
  SmallVector<Attribute> key = {TypeAttr::get(op.getCache().getType())};
  for (Attribute attribute :
       {Attribute(op.getHeadsAttr()), Attribute(op.getScaleAttr()),
        Attribute(op.getWindowAttr()), Attribute(op.getSoftcapAttr()),
        Attribute(op.getAlibiAttr()), Attribute(op.getAllHeadsAttr()),
        Attribute(op.getFirstHeadAttr())})
    key.push_back(attribute ? attribute : Attribute(b.getUnitAttr()));
  LLVM::GlobalOp &global = parameters[b.getArrayAttr(key)];
  if (!global)
    global = create(b, op);
  return global;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Returns the values that the initializer inserts into its structure, by
/// place; null if it does not insert one.
static SmallVector<Value> getFields(LLVM::GlobalOp global, size_t count) {
  SmallVector<Value> fields(count);
  Block *block = global.getInitializerBlock();
  auto end = block ? dyn_cast<LLVM::ReturnOp>(block->getTerminator()) : nullptr;
  Value structure = end ? end.getArg() : Value();
  while (structure) {
    auto insert = structure.getDefiningOp<LLVM::InsertValueOp>();
    if (!insert)
      break;
    ArrayRef<int64_t> place = insert.getPosition();
    if (place.size() == 1 && static_cast<size_t>(place[0]) < count &&
        !fields[place[0]])
      fields[place[0]] = insert.getValue();
    structure = insert.getContainer();
  }
  return fields;
}

/// Reads the numbers of the global whose address is the field; none if it is
/// null.
static std::optional<std::vector<float>> readSlopes(const SymbolTable &symbols,
                                                    Value field) {
  if (field && field.getDefiningOp<LLVM::ZeroOp>())
    return std::vector<float>();
  auto address =
      field ? field.getDefiningOp<LLVM::AddressOfOp>() : LLVM::AddressOfOp();
  auto global = address
                    ? symbols.lookup<LLVM::GlobalOp>(address.getGlobalName())
                    : LLVM::GlobalOp();
  auto values =
      global ? dyn_cast_or_null<DenseFPElementsAttr>(global.getValueOrNull())
             : DenseFPElementsAttr();
  if (!values || !values.getElementType().isF32())
    return std::nullopt;
  auto range = values.getValues<float>();
  return std::vector<float>(range.begin(), range.end());
}

std::optional<AttentionConstant>
sluice::planning::readAttention(const SymbolTable &symbols,
                                LLVM::GlobalOp global) {
  constexpr size_t count = 7; // fields of a SluiceAttention
  SmallVector<Value> fields = getFields(global, count);
  AttentionConstant result{};
  SluiceAttention &attention = result.parameters;
  size_t next = 0;
  for (int64_t *number : {&attention.heads, &attention.kvHeads,
                          &attention.headDim, &attention.window}) {
    APInt value;
    if (Value field = fields[next++];
        !field || !matchPattern(field, m_ConstantInt(&value)))
      return std::nullopt;
    *number = value.getSExtValue();
  }
  for (float *number : {&attention.scale, &attention.softcap}) {
    APFloat value(0.0F);
    if (Value field = fields[next++];
        !field || !matchPattern(field, m_ConstantFloat(&value)))
      return std::nullopt;
    *number = value.convertToFloat();
  }
  std::optional<std::vector<float>> slopes = readSlopes(symbols, fields[next]);
  if (!slopes)
    return std::nullopt;
  result.slopes = std::move(*slopes);
  return result;
}
