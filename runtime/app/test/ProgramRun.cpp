//===- ProgramRun.cpp - the test program in a folder of its own -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/test/ProgramRun.h"

#include "runtime/text/ByteAlphabet.h"
#include "runtime/text/TokenizerBlob.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <sys/wait.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::test;
namespace fs = std::filesystem;

static std::string readAll(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void ProgramTest::SetUp() {
  std::string pattern = testing::TempDir() + "programXXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  folder = pattern;
  // Copied, not linked, because a program finds its files by its real path.
  fs::copy_file(SLUICE_TEST_PROGRAM, executable());
  model = modelBytes();
  modelPath = folder + "/model.bin";
  writeFile(modelPath, model.data(), model.size());
  program = testDescriptor(modelPath, model);
  describe(program);
}

void ProgramTest::TearDown() { fs::remove_all(folder); }

void ProgramTest::describe(const ExecutableDescriptor &program) {
  Expected<std::string> text = program.toJson();
  ASSERT_TRUE(text) << text.status().message();
  writeFile(executable() + ".json", text->data(), text->size());
}

void ProgramTest::addTokenizer() {
  using namespace sluice::text;
  TokenizerSpec spec;
  for (int64_t id = 0; id < vocab; ++id) {
    Token token;
    token.text = "<" + std::to_string(id) + ">";
    if (id < 256)
      token.text = byteSpelling(uint8_t(id));
    else if (id < 258)
      token.text = id == 256 ? "<s>" : "</s>";
    spec.tokens.push_back(token);
  }
  spec.addedTokens = {{.id = 256, .special = true},
                      {.id = 257, .special = true}};
  PreTokenizerStep split;
  split.kind = PreTokenizerStep::Kind::ByteLevel;
  spec.preTokenizer = {split};
  DecoderStep join;
  join.kind = DecoderStep::Kind::ByteLevel;
  spec.decoder = {join};
  ASSERT_TRUE(spec.validate().ok()) << spec.validate().message();
  std::vector<uint8_t> blob = serializeTokenizer(spec);
  writeFile(executable() + ".tokenizer", blob.data(), blob.size());
}

pid_t ProgramTest::start(const std::vector<std::string> &arguments,
                         const std::string &output, int input) {
  std::string path = executable();
  std::vector<char *> argv = {path.data()};
  std::vector<std::string> copies = arguments;
  for (std::string &argument : copies)
    argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::string out = output.empty() ? folder + "/stdout" : output;
  std::string err = folder + "/stderr";
  pid_t process = ::fork();
  if (process != 0)
    return process;
  int outFd = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  int errFd = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  int inFd = input >= 0 ? input : ::open("/dev/null", O_RDONLY);
  if (::dup2(inFd, 0) < 0 || ::dup2(outFd, 1) < 0 || ::dup2(errFd, 2) < 0)
    ::_exit(99);
  ::execv(path.c_str(), argv.data());
  ::_exit(99);
}

Finished ProgramTest::finish(pid_t process) {
  int status = 0;
  ::waitpid(process, &status, 0);
  Finished result;
  result.code =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = readAll(folder + "/stdout");
  result.err = readAll(folder + "/stderr");
  return result;
}

nlohmann::json ProgramTest::runJson(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  Finished result = run(arguments);
  EXPECT_EQ(result.code, 0) << result.err;
  // Tests may use more threads than the machine has.
  if (!result.err.starts_with("model: warning: -t "))
    EXPECT_EQ(result.err, "");
  nlohmann::json parsed =
      nlohmann::json::parse(result.out, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(parsed.is_object()) << result.out;
  return parsed;
}

std::string ProgramTest::runFailing(const std::vector<std::string> &arguments,
                                    int code) {
  Finished result = run(arguments);
  EXPECT_EQ(result.code, code) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1)
      << result.err;
  EXPECT_EQ(result.err.rfind("model: error: ", 0), 0u) << result.err;
  return result.err;
}
