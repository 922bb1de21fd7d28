//===- WeightStoreTest.cpp - a module's weights as float32 ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Interpreter/WeightStore.h"

#include "ModuleFixture.h"
#include "runtime/formats/BlockFormat.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

using namespace sluice;
using namespace sluice::interpreter;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

using WeightStoreTest = ModuleFixture;

TEST_F(WeightStoreTest, ReadsVectorsAndMatricesAtTheirOffsets) {
  writeFile(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  mlir::ModuleOp op = parse(R"(
    sluice.weight @v in @f0 at 4 stored f32 : tensor<3xf32>
    sluice.weight @m in @f0 at 8 stored f32 : tensor<2x3xf32>)");
  Expected<WeightStore> store = WeightStore::open(op);
  ASSERT_TRUE(store) << store.status().message();
  const WeightData *vector = *store->get("v");
  EXPECT_EQ(vector->rows, 1);
  EXPECT_THAT(vector->data, ElementsAre(2, 3, 4));
  const WeightData *matrix = *store->get("m");
  EXPECT_EQ(matrix->rows, 2);
  EXPECT_EQ(matrix->cols, 3);
  EXPECT_THAT(matrix->row(1), ElementsAre(6, 7, 8));
  EXPECT_EQ(*store->get("m"), matrix) << "a weight is loaded once";
}

TEST_F(WeightStoreTest, ReadsSlicesRangeByRange) {
  writeFile(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  mlir::ModuleOp op = parse(R"(
    sluice.weight @m in @f0 at 0 stored f32 : tensor<4x3xf32>
    sluice.weight @v in @f0 at 8 stored f32 : tensor<6xf32>
    sluice.slice @rows of @m rows 0 to 1, 2 to 4 : tensor<3x3xf32>
    sluice.slice @columns of @m columns 0 to 1, 2 to 3 : tensor<4x2xf32>
    sluice.slice @vector of @v columns 1 to 3, 5 to 6 : tensor<3xf32>)");
  Expected<WeightStore> store = WeightStore::open(op);
  ASSERT_TRUE(store) << store.status().message();
  const WeightData *rows = *store->get("rows");
  EXPECT_EQ(rows->rows, 3);
  EXPECT_THAT(rows->data, ElementsAre(1, 2, 3, 7, 8, 9, 10, 11, 12));
  const WeightData *columns = *store->get("columns");
  EXPECT_EQ(columns->cols, 2);
  EXPECT_THAT(columns->data, ElementsAre(1, 3, 4, 6, 7, 9, 10, 12));
  EXPECT_THAT((*store->get("vector"))->data, ElementsAre(4, 5, 8));
}

TEST_F(WeightStoreTest, SlicesOfWhatIsQuantizedAreThoseOfTheWhole) {
  std::vector<float> values(3 * 64);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(float(i));
  writeFile(values);
  mlir::ModuleOp op = parse(R"(
    sluice.weight @w in @f0 at 0 stored f32 : tensor<3x64x!sluice.block<q8_0>>
    sluice.slice @s of @w columns 32 to 64 : tensor<3x32x!sluice.block<q8_0>>)");
  Expected<WeightStore> store = WeightStore::open(op);
  ASSERT_TRUE(store) << store.status().message();
  const WeightData *whole = *store->get("w");
  const WeightData *slice = *store->get("s");
  for (int64_t r = 0; r < 3; ++r)
    for (int64_t c = 0; c < 32; ++c)
      EXPECT_EQ(slice->row(r)[c], whole->row(r)[32 + c]);
}

TEST_F(WeightStoreTest, DequantizesWhatTheFileStores) {
  std::vector<float> values(64);
  for (int i = 0; i < 64; ++i)
    values[i] = std::sin(i);
  std::vector<uint8_t> bytes(*rowBytes(Format::Q8_0, 64));
  quantizeRow(Format::Q8_0, values.data(), bytes.data(), 64);
  std::vector<float> expected(64);
  dequantizeRow(Format::Q8_0, bytes.data(), expected.data(), 64);

  writeFile(bytes);
  mlir::ModuleOp op = parse("sluice.weight @w in @f0 at 0 stored q8_0 "
                            ": tensor<2x32x!sluice.block<q8_0>>");
  Expected<WeightStore> store = WeightStore::open(op);
  ASSERT_TRUE(store) << store.status().message();
  EXPECT_EQ((*store->get("w"))->data, expected);
}

TEST_F(WeightStoreTest, QuantizesWhereTheTypeDiffersFromTheFile) {
  std::vector<float> values(64);
  for (int i = 0; i < 64; ++i)
    values[i] = std::sin(i);
  std::vector<float> expected(64);
  for (int row = 0; row < 2; ++row) {
    std::vector<uint8_t> bytes(*rowBytes(Format::Q4_0, 32));
    quantizeRow(Format::Q4_0, values.data() + row * 32, bytes.data(), 32);
    dequantizeRow(Format::Q4_0, bytes.data(), expected.data() + row * 32, 32);
  }

  writeFile(values);
  mlir::ModuleOp op = parse("sluice.weight @w in @f0 at 0 stored f32 "
                            ": tensor<2x32x!sluice.block<q4_0>>");
  Expected<WeightStore> store = WeightStore::open(op);
  ASSERT_TRUE(store) << store.status().message();
  EXPECT_EQ((*store->get("w"))->data, expected);
  EXPECT_NE((*store->get("w"))->data, values);
}

TEST_F(WeightStoreTest, RefusesValuesThatAreNotFinite) {
  writeFile(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN()});
  mlir::ModuleOp op =
      parse("sluice.weight @bad in @f0 at 0 stored f32 : tensor<2xf32>");
  Expected<WeightStore> store = WeightStore::open(op);
  ASSERT_TRUE(store);
  Expected<const WeightData *> weight = store->get("bad");
  ASSERT_FALSE(weight);
  EXPECT_THAT(weight.status().message(), HasSubstr("test.mlir:2:1: "));
  EXPECT_THAT(weight.status().message(), HasSubstr("@bad"));
  EXPECT_THAT(weight.status().message(), HasSubstr("not finite"));
}

TEST_F(WeightStoreTest, RefusesAFileThatIsGone) {
  writeFile(std::vector<float>{1, 2});
  mlir::ModuleOp op =
      parse("sluice.weight @w in @f0 at 0 stored f32 : tensor<2xf32>");
  std::remove(path.c_str());
  Expected<WeightStore> store = WeightStore::open(op);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.status().message(), HasSubstr("test.mlir:1:1: "));
  EXPECT_THAT(store.status().message(), HasSubstr(path));
}

TEST_F(WeightStoreTest, RefusesAFileOfAnotherSize) {
  writeFile(std::vector<float>{1, 2});
  mlir::ModuleOp op =
      parse("sluice.weight @w in @f0 at 0 stored f32 : tensor<2xf32>");
  writeFile(std::vector<float>{1, 2, 3});
  Expected<WeightStore> store = WeightStore::open(op);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.status().message(), HasSubstr("has 12 bytes"));
}

TEST_F(WeightStoreTest, RefusesAFileThatChanged) {
  writeFile(std::vector<float>{1, 2});
  mlir::ModuleOp op =
      parse("sluice.weight @w in @f0 at 0 stored f32 : tensor<2xf32>");
  writeFile(std::vector<float>{1, 3});
  Expected<WeightStore> store = WeightStore::open(op);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.status().message(), HasSubstr("changed"));
}

} // namespace
