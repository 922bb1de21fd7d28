//===- DamagedWeightsTest.cpp - weights that have changed -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What users see if weights are damaged, changed or truncated: before the first
// step, when the server starts, and while it runs. No process goes on with such
// weights, and each ends with a message.
//
//===----------------------------------------------------------------------===//

#include "runtime/app/test/ProgramRun.h"
#include "runtime/program/PackedFileWriter.h"
#include "runtime/program/WeightDigests.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <gmock/gmock.h>
#include <thread>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

using Arguments = std::vector<std::string>;

const Arguments generate = {"generate", "--tokens", "5,6,7", "-n", "8"};

class DamagedWeightsTest : public ProgramTest {
protected:
  void SetUp() override {
    ProgramTest::SetUp();
    recordDigests(program);
    describe(program);
    addTokenizer();
    tokens = runJson(generate)["tokens"];
  }

  std::string cache() const { return executable() + ".weights"; }

  /// Changes bytes of a file in place.
  static void damage(const std::string &path, uint64_t offset,
                     const std::string &with = "damage") {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(std::streamoff(offset));
    file << with;
  }

  /// Starts a server and waits until it listens and has read its weights once.
  pid_t startServer(const Arguments &more = {}) {
    Arguments arguments = {"serve", "--port", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    fs::remove(folder + "/stderr"); // of the previous server
    pid_t process = start(arguments);
    for (int i = 0; i < 6000 && !says("serving "); ++i)
      std::this_thread::sleep_for(10ms);
    EXPECT_TRUE(says("serving "));
    return process;
  }

  bool says(const std::string &text) const {
    std::ifstream in(folder + "/stderr");
    std::string all{std::istreambuf_iterator<char>(in), {}};
    return all.find(text) != std::string::npos;
  }

  /// Expects that the server ends with an error that says `reason`.
  void expectEnd(pid_t server, const std::string &reason) {
    Finished result = finish(server);
    EXPECT_EQ(result.code, 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr("model: error: " + folder + reason));
  }

  json tokens;
  // In the packed file, after the header's page and the norm.
  const uint64_t output = 4096 + 256;
};

const std::string wrong = "; what was computed with these weights may be wrong";
const std::string removed = " is damaged; the file has been removed, and the "
                            "next start packs the weights again" +
                            wrong;

TEST_F(DamagedWeightsTest, VerifiedFirstACacheIsPackedAgain) {
  damage(cache(), output + 1000);
  Arguments full = generate;
  full.insert(full.end(), {"--verify", "full", "--json"});
  Finished result = run(full);
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, cache() + ": weight 'output' is damaged; packing the "
                                  "weights again\n");
  EXPECT_EQ(json::parse(result.out)["tokens"], tokens);
  EXPECT_EQ(runJson(full)["tokens"], tokens);
}

TEST_F(DamagedWeightsTest, VerifiedFirstEmbeddedWeightsAreRefused) {
  program.embedded = true;
  describe(program);
  {
    Expected<MappedFile> linked = MappedFile::open(SLUICE_TEST_PROGRAM);
    Expected<AtomicFile> out = AtomicFile::create(executable(), 0777);
    ASSERT_TRUE(linked && out);
    std::span<const uint8_t> bytes = linked->bytes();
    ASSERT_TRUE(out->write(bytes.data(), bytes.size()).ok());
    ASSERT_TRUE(appendEmbeddedWeights(program, {}, {}, *out).ok());
    ASSERT_TRUE(out->commit().ok());
  }
  Arguments full = generate;
  full.insert(full.end(), {"--verify", "full"});
  EXPECT_EQ(run(full).code, 0);
  damage(executable(), fs::file_size(executable()) - 5000);
  EXPECT_THAT(runFailing(full, 1),
              HasSubstr("/model: weight 'output' is damaged; copy or compile "
                        "the program again"));
}

TEST_F(DamagedWeightsTest, AChangedModelIsRefused) {
  // The identity stays the same, because it only samples a large file.
  const WeightDescriptor &table = program.programs[0].weights[Embedding];
  model[table.offset + 200] ^= 1;
  writeFile(modelPath, model.data(), model.size());
  program.files[0].identity = fileIdentity(model);
  describe(program);
  fs::remove(cache());
  EXPECT_THAT(
      runFailing(generate, 1),
      HasSubstr("model.bin: weight 'embedding' has changed since the program "
                "was compiled from it; restore the file, or compile it again"));
}

TEST_F(DamagedWeightsTest, NeverVerifiedTheyAreUsedAsTheyAre) {
  damage(cache(), output + 1000, std::string(4096, '\1'));
  Arguments off = generate;
  off.insert(off.end(), {"--verify", "off", "--logits"});
  json result = runJson(off);
  fs::remove(cache());
  EXPECT_NE(result["last_logits"], runJson(off)["last_logits"]);
}

TEST_F(DamagedWeightsTest, AServerWithADamagedCacheEnds) {
  for (const std::string &with : {std::string("x"), std::string(4096, '\0')}) {
    damage(cache(), output + 1000, with);
    expectEnd(start({"serve", "--port", "0"}),
              "/model.weights: weight 'output'" + removed);
    EXPECT_FALSE(fs::exists(cache()));
    EXPECT_EQ(runJson(generate)["tokens"], tokens);
  }
}

TEST_F(DamagedWeightsTest, AServerNoticesWhatIsDamagedLater) {
  pid_t server = startServer();
  damage(cache(), 4096 + 8);
  expectEnd(server, "/model.weights: weight 'norm'" + removed);
  EXPECT_FALSE(fs::exists(cache()));

  EXPECT_EQ(runJson(generate)["tokens"], tokens);
  server = startServer({"--verify", "full"});
  const WeightDescriptor &place = program.programs[0].weights[Place];
  damage(modelPath, place.offset + 80);
  expectEnd(server, "/model.bin: weight 'place' has changed since the program "
                    "was compiled from it; restore the file, or compile it "
                    "again" +
                        wrong);
  EXPECT_TRUE(fs::exists(cache()));
}

TEST_F(DamagedWeightsTest, AServerSaysWhichFileIsCutShort) {
  pid_t server = startServer();
  fs::resize_file(modelPath, 4096);
  expectEnd(server, "/model.bin: has been cut short while it was in use\n");

  writeFile(modelPath, model.data(), model.size());
  server = startServer();
  fs::resize_file(cache(), 4096);
  expectEnd(server, "/model.weights: has been cut short while it was in use\n");
  EXPECT_THAT(run(generate).err,
              StartsWith(cache() + ": has 4096 bytes, not "));
}

TEST_F(DamagedWeightsTest, AServerThatIsWholeGoesOn) {
  for (const char *when : {"background", "full", "off"}) {
    pid_t server = startServer({"--verify", when});
    std::this_thread::sleep_for(100ms);
    ASSERT_EQ(::kill(server, SIGTERM), 0);
    EXPECT_EQ(finish(server).code, 0) << when;
  }
}

TEST_F(DamagedWeightsTest, ACacheThatOthersCanWriteIsNotUsed) {
  fs::permissions(cache(), fs::perms::group_write, fs::perm_options::add);
  damage(cache(), output + 1000);
  Arguments asJson = generate;
  asJson.push_back("--json");
  Finished result = run(asJson);
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("may be written by other users"));
  EXPECT_EQ(json::parse(result.out)["tokens"], tokens);
}

} // namespace
