//===- CublasLtTest.cpp - products by cuBLASLt, on a fake one -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/driver/CublasLt.h"
#include "runtime/base/test/BesideProgram.h"
#include "runtime/formats/BlockFormat.h"

#include <bit>
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <random>

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define HAS_CUBLASLT_H 1
#endif

using namespace sluice;
using namespace sluice::cuda;

namespace {

const std::string fakeCublasLt = besideProgram("libFakeCublasLt.so");

class CublasLtTest : public testing::Test {
protected:
  void SetUp() override {
    std::string why =
        notBesideProgram({"libFakeCublasLt.so", "libFakeCuda.so"});
    if (!why.empty())
      GTEST_SKIP() << why;
  }
  void TearDown() override { ::unsetenv("SLUICE_FAKE_CUBLASLT_FAIL"); }

  std::unique_ptr<CublasLt> open() {
    Expected<std::unique_ptr<CublasLt>> opened = CublasLt::open(fakeCublasLt);
    EXPECT_TRUE(opened) << opened.status().message();
    return opened.take();
  }
  int fake(const char *name) {
    void *handle = ::dlopen(fakeCublasLt.c_str(), RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<int (*)()>(::dlsym(handle, name))();
  }

  /// Returns random bits of numbers in (-2, 2), for both f16 and bf16.
  std::vector<uint16_t> randomBits(int64_t count) {
    std::vector<uint16_t> bits;
    for (int64_t i = 0; i < count; ++i)
      bits.push_back(uint16_t(random() & 0xbfff));
    return bits;
  }
  static float number(uint16_t bits, bool isBfloat) {
    return isBfloat ? std::bit_cast<float>(uint32_t{bits} << 16)
                    : halfToFloat(bits);
  }

  /// Returns a product of 3 rows of 8 features by 5 columns, with results 7
  /// apart.
  ProductNode product() {
    ProductNode node;
    node.weight = reinterpret_cast<DeviceAddress>(weight.data());
    node.rows = reinterpret_cast<DeviceAddress>(rows.data());
    node.result = reinterpret_cast<DeviceAddress>(result.data());
    node.rowCount = 3;
    node.columns = 5;
    node.features = 8;
    node.resultStride = 7;
    return node;
  }
  float expected(int64_t row, int64_t column, bool isBfloat) {
    float sum = 0;
    for (int64_t k = 0; k < 8; ++k)
      sum += number(rows[size_t(row * 8 + k)], isBfloat) *
             number(weight[size_t(column * 8 + k)], isBfloat);
    return sum;
  }

  std::mt19937 random{7};
  std::vector<uint16_t> weight = randomBits(5 * 8);
  std::vector<uint16_t> rows = randomBits(3 * 8);
  std::vector<float> result = std::vector<float>(3 * 7, -9);
  Stream stream = reinterpret_cast<Stream>(uintptr_t{16});
};

} // namespace

TEST_F(CublasLtTest, MultipliesRowsByColumns) {
  std::unique_ptr<CublasLt> library = open();
  std::vector<float> residual;
  for (int i = 0; i < 3 * 7; ++i)
    residual.push_back(float(i) - 10);
  // No addend, the result itself, and another value.
  std::vector<float> *addends[] = {nullptr, &result, &residual};
  for (bool isBfloat : {false, true})
    for (std::vector<float> *addend : addends) {
      ProductNode node = product();
      node.isBfloat = isBfloat;
      if (addend)
        node.addend = reinterpret_cast<DeviceAddress>(addend->data());
      const std::vector<float> before = result;
      const std::vector<float> added =
          addend ? *addend : std::vector<float>(3 * 7);
      Status s = library->enqueue(node, stream);
      ASSERT_TRUE(s.ok()) << s.message();
      for (int64_t row = 0; row < 3; ++row)
        for (int64_t column = 0; column < 7; ++column) {
          auto place = size_t(row * 7 + column);
          EXPECT_EQ(result[place],
                    column < 5 ? expected(row, column, isBfloat) + added[place]
                               : before[place]);
        }
    }
  library.reset();
  EXPECT_EQ(fake("fake_cublaslt_alive"), 0);
}

TEST_F(CublasLtTest, AsksOnceForAShape) {
  std::unique_ptr<CublasLt> library = open();
  int before = fake("fake_cublaslt_searches");
  ProductNode node = product();
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(library->enqueue(node, stream).ok());
  EXPECT_EQ(fake("fake_cublaslt_searches"), before + 1);
  node.columns = 4;
  EXPECT_TRUE(library->enqueue(node, stream).ok());
  // Another alignment may need another algorithm.
  node.result += sizeof(float);
  EXPECT_TRUE(library->enqueue(node, stream).ok());
  EXPECT_EQ(fake("fake_cublaslt_searches"), before + 3);
}

TEST_F(CublasLtTest, SaysWhatHasFailed) {
  EXPECT_EQ(CublasLt::open("/nowhere/libcublasLt.so").status().message(),
            "no cuBLASLt is here: /nowhere/libcublasLt.so: cannot open shared "
            "object file: No such file or directory");
  // A library that is not cuBLASLt.
  const std::string other = besideProgram("libFakeCuda.so");
  EXPECT_EQ(CublasLt::open(other).status().message(),
            other + " has no cublasLtCreate");
  for (const char *call :
       {"cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute",
        "cublasLtMatrixLayoutCreate", "cublasLtMatmulPreferenceCreate",
        "cublasLtMatmulPreferenceSetAttribute",
        "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul"}) {
    std::unique_ptr<CublasLt> library = open();
    ::setenv("SLUICE_FAKE_CUBLASLT_FAIL", call, 1);
    EXPECT_EQ(library->enqueue(product(), stream).message(),
              std::string(call) + ": cuBLAS status 13");
    ::unsetenv("SLUICE_FAKE_CUBLASLT_FAIL");
  }
  std::unique_ptr<CublasLt> library = open();
  ::setenv("SLUICE_FAKE_CUBLASLT_FAIL", "none", 1);
  EXPECT_EQ(library->enqueue(product(), stream).message(),
            "cuBLASLt has no algorithm for 3 rows of 8 by 5 columns");
  for (const char *fault : {"state", "workspace"}) {
    ::setenv("SLUICE_FAKE_CUBLASLT_FAIL", fault, 1);
    EXPECT_EQ(library->enqueue(product(), stream).message(),
              "cuBLASLt has no algorithm for 3 rows of 8 by 5 columns");
  }
  library.reset();
  EXPECT_EQ(fake("fake_cublaslt_alive"), 0);
  ::setenv("SLUICE_FAKE_CUBLASLT_FAIL", "cublasLtCreate", 1);
  EXPECT_EQ(CublasLt::open(fakeCublasLt).status().message(),
            "cublasLtCreate: cuBLAS status 13");
}

#ifdef HAS_CUBLASLT_H
TEST(CublasLtTypesTest, AreThoseOfCublasLtH) {
  EXPECT_EQ(lt::success, CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(lt::typeF32, CUDA_R_32F);
  EXPECT_EQ(lt::typeF16, CUDA_R_16F);
  EXPECT_EQ(lt::typeBF16, CUDA_R_16BF);
  EXPECT_EQ(lt::computeF32, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(lt::transposed, CUBLAS_OP_T);
  static_assert(sizeof(cublasOperation_t) == sizeof(lt::transposed));
  EXPECT_EQ(lt::productTransA, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(lt::preferWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(lt::preferAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  EXPECT_EQ(lt::preferAlignmentA + 3,
            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  static_assert(sizeof(lt::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
  using Result = cublasLtMatmulHeuristicResult_t;
  static_assert(sizeof(lt::Heuristic) == sizeof(Result));
  static_assert(offsetof(lt::Heuristic, workspaceBytes) ==
                offsetof(Result, workspaceSize));
  static_assert(offsetof(lt::Heuristic, state) == offsetof(Result, state));
}
#endif
