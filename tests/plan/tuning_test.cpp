// The cache of tuned choices: what it is found by, damaged texts, and entries that do not hold.
#include "coda/plan/tuning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "coda/catalogue/linear.h"
#include "coda/plan/choose.h"

namespace coda::plan {
namespace {

using catalogue::Linear;
using kernel::kTileConfigs;
using kernel::OperandMajor;

const Device kDevice{132, "NVIDIA H200"};
const std::string kHead = "coda tuning cache, format 1\n";
const std::string kLine = "gpu\t132\t0.1.0\tlinear bf16\tcontraction,rows\t1x2x3\tpp\n";
const std::string kKey = "gpu\t132\t0.1.0\tlinear bf16\tcontraction,rows\t1x2x3";

bf16* const kSomewhere = reinterpret_cast<bf16*>(0x10000);  // addresses do not matter here

struct Question {
  Question(int64_t M, int64_t N, int64_t K, Major major_b = Major::kRow) {
    linear.out = Matrix<bf16>(kSomewhere, M, N);
    program = describe(linear);
    a = Operand<bf16>(Matrix<const bf16>(kSomewhere, M, K, K, Major::kRow));
    b = Operand<bf16>(
        Matrix<const bf16>(kSomewhere, N, K, major_b == Major::kRow ? K : N, major_b));
    problem.rows = {1, {0, M}};
    problem.columns = {1, {0, N}};
    problem.contraction = {1, {0, K}};
  }

  LaunchRequest request() const { return {&linear, &problem, &a, &b}; }
  std::string key(OperandMajor major_b = OperandMajor::kContraction) const {
    return tuning_key(kDevice, program, DType::kBf16, OperandMajor::kContraction, major_b,
                      problem.M(), problem.N(), problem.K());
  }

  Linear<bf16> linear;
  ProgramView program;
  Problem problem;
  OperandView a, b;
};

KernelEntry entry(int config, OperandMajor b = OperandMajor::kContraction) {
  KernelEntry result;
  result.config = kTileConfigs[config];
  result.b = b;
  result.any_columns = true;
  return result;
}

const KernelEntry kKernels[] = {entry(0), entry(3), entry(6), entry(6, OperandMajor::kRows)};

const KernelEntry* ask(const TuningCache& cache, const Question& q,
                       const Device& device = kDevice) {
  return tuned_kernel(cache, kKernels, q.program, q.request(), device);
}

TuningCache cache_with(const std::string& key, const std::string& config) {
  TuningCache cache;
  cache.set(key, config);
  return cache;
}

TEST(Tuning, KeyNamesEverything) {
  EXPECT_EQ(Question(512, 1024, 64).key(OperandMajor::kRows).substr(0, 16), "NVIDIA H200\t132\t");
  const std::string key = Question(512, 1024, 64).key(OperandMajor::kRows);
  EXPECT_NE(key.find("\tlinear bf16 out:bf16\tcontraction,rows\t512x1024x64"), std::string::npos)
      << key;
}

TEST(Tuning, KeysDifferByPortsAndTypes) {
  Question with_bias(64, 64, 64);
  with_bias.linear.bias = Matrix<const bf16>(kSomewhere, 1, 64);
  with_bias.program = describe(with_bias.linear);
  EXPECT_NE(with_bias.key(), Question(64, 64, 64).key());
  Question wide(64, 64, 64);
  auto& ports = wide.program.ports;
  std::ranges::find(ports, "out", &PortView::name)->dtype = DType::kFp32;
  EXPECT_NE(wide.key(), Question(64, 64, 64).key());
}

TEST(Tuning, TextComesBack) {
  TuningCache cache = cache_with(kKey, "pp");
  EXPECT_EQ(cache.text(), kHead + kLine);
  cache.set("other\t1\t2\t3\t4\t5", "co");
  const TuningCache again = TuningCache::parse(cache.text());
  EXPECT_EQ(again.size(), 2u);
  ASSERT_NE(again.find(kKey), nullptr);
  EXPECT_EQ(*again.find(kKey), "pp");
  EXPECT_EQ(again.find("other"), nullptr);
}

TEST(Tuning, DamagedLinesAreLeftOut) {
  const std::string damaged[] = {
      "\n",          "nonsense\n",       "\t\t\t\t\t\t\n",      kKey + "\n",
      kKey + "\t\n", "\t" + kKey + "\n", kKey + "\tpp\tmore\n", std::string("\0\xff\x01\n", 4)};
  for (const std::string& line : damaged) {
    EXPECT_EQ(TuningCache::parse(kHead + line).size(), 0u) << line;
    const TuningCache cache = TuningCache::parse(kHead + line + kLine);
    EXPECT_EQ(cache.size(), 1u) << line;
    EXPECT_NE(cache.find(kKey), nullptr) << line;
  }
}

TEST(Tuning, TruncatedAnywhereGivesNoWrongEntry) {
  const std::string whole = kHead + kLine + "other\t1\t2\t3\t4\t5\tpp128x128\n";
  for (size_t length = 0; length < whole.size(); ++length) {
    const TuningCache cache = TuningCache::parse(std::string_view(whole).substr(0, length));
    EXPECT_EQ(cache.size(), length < kHead.size() + kLine.size() ? 0u : 1u) << length;
  }
  EXPECT_EQ(TuningCache::parse(whole).size(), 2u);
}

TEST(Tuning, OtherFormatsAreNothing) {
  EXPECT_EQ(TuningCache::parse("coda tuning cache, format 2\n" + kLine).size(), 0u);
  EXPECT_EQ(TuningCache::parse(kLine).size(), 0u);
  EXPECT_EQ(TuningCache::parse("").size(), 0u);
  EXPECT_FALSE(TuningCache::has_format("coda tuning cache, format 12\n"));
}

TEST(Tuning, NewerEntriesReplaceOlderOnes) {
  TuningCache cache = cache_with("a", "1");
  cache.set("b", "1");
  TuningCache newer = cache_with("b", "2");
  newer.set("c", "2");
  cache.merge(newer);
  EXPECT_EQ(*cache.find("a"), "1");
  EXPECT_EQ(*cache.find("b"), "2");
  EXPECT_EQ(*cache.find("c"), "2");
}

TEST(Tuning, FindsTheKernelThatFits) {
  const Question q(512, 512, 512), transposed(512, 512, 512, Major::kColumn);
  const std::string config = config_name(kTileConfigs[6]);
  EXPECT_EQ(ask(cache_with(q.key(), config), q), &kKernels[2]);
  EXPECT_EQ(ask(cache_with(transposed.key(OperandMajor::kRows), config), transposed), &kKernels[3]);
}

TEST(Tuning, EntriesThatDoNotHoldAreMisses) {
  const Question q(512, 512, 512), transposed(512, 512, 512, Major::kColumn);
  const std::string config = config_name(kTileConfigs[3]);
  EXPECT_EQ(ask(cache_with(q.key(), config), q), &kKernels[1]);
  EXPECT_EQ(ask(cache_with(q.key(), "pp999x1_s1_c1x1_n1"), q), nullptr);
  EXPECT_EQ(ask(cache_with(q.key(), ""), q), nullptr);
  // Compiled, but not for these majors.
  EXPECT_EQ(ask(cache_with(transposed.key(OperandMajor::kRows), config), transposed), nullptr);
  EXPECT_EQ(ask(cache_with(q.key(), config), Question(512, 512, 576)), nullptr);
  EXPECT_EQ(ask(cache_with(q.key(), config), q, {114, "NVIDIA H200"}), nullptr);
  EXPECT_EQ(ask(cache_with(q.key(), config), q, {132, "NVIDIA H100"}), nullptr);
  Question cut(512, 512, 512);
  cut.problem.rows = {2, {0, 100, 512}};
  EXPECT_EQ(ask(cache_with(q.key(), config), cut), nullptr);
}

// The tests below share the cache of the process: each takes shapes of its own.
TEST(Tuning, LaunchesTakeTheTunedKernelAndElseThePredictedOne) {
  const Question q(768, 768, 768);
  const auto pick_now = [&] { return &pick(nullptr, kKernels, q.program, q.request(), kDevice); };
  const KernelEntry* predicted = pick_now();
  EXPECT_EQ(predicted, &choose(kKernels, q.program, q.problem, q.a, q.b, kDevice));
  const KernelEntry* other = predicted == &kKernels[0] ? &kKernels[1] : &kKernels[0];
  use_tuning(cache_with(q.key(), config_name(other->config)));
  EXPECT_EQ(pick_now(), other);
  EXPECT_EQ(&pick(predicted, kKernels, q.program, q.request(), kDevice), predicted);
  use_tuning(cache_with(q.key(), "removed_since"));
  EXPECT_EQ(pick_now(), predicted);
  use_tuning({});
  EXPECT_EQ(pick_now(), predicted);
}

TEST(Tuning, MayBeReplacedWhileOthersLookUp) {
  const Question q(896, 896, 896);
  const TuningCache one = cache_with(q.key(), config_name(kTileConfigs[0]));
  const TuningCache two = cache_with(q.key(), config_name(kTileConfigs[3]));
  use_tuning(one);
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::thread reader([&] {
    while (!done) {
      const KernelEntry* found = ask(*tuning_in_use(), q);
      if (found != &kKernels[0] && found != &kKernels[1]) ++wrong;
    }
  });
  for (int i = 0; i < 200; ++i) use_tuning(i % 2 == 0 ? two : one);
  done = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
  use_tuning({});
}

}  // namespace
}  // namespace coda::plan
