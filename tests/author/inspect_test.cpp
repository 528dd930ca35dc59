// Rules about a program that its types cannot express: about its ports, with the author's line, and
// about what its kernels have on chip, without a GPU.
#include "coda/author/inspect.h"

#include <gtest/gtest.h>

#include "coda/author/kernels.h"
#include "coda/author/tile_facts.h"
#include "coda/core/error.h"
#include "impure_programs.h"
#include "inspected_programs.h"
#include "tests/program/reductions.h"

namespace coda::author {
namespace {

template <class P>
std::string message_of() {
  catalogue::Variant variant;
  variant.program = describe(P{});
  variant.trace = &trace::run_instance<P>;
  try {
    inspect(variant);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "expected: " << part << "\n" << message;
  }
}

TEST(Inspect, TakesWhatIsRight) {
  EXPECT_EQ(message_of<Good>(), "");
  EXPECT_EQ(message_of<ReadsInOneWay>(), "");
  EXPECT_EQ(message_of<ReadsWithoutTheOther>(), "");
  EXPECT_EQ(message_of<ScalesByHeadDim>(), "");
}

TEST(Inspect, NamesBothLinesOfAnOutputThatIsWrittenTwice) {
  expect_parts(message_of<StoresTwice>(),
               {"stores_twice: output 'out' is written twice",
                "inspected_programs.h:" + std::to_string(kFirstStore),
                "inspected_programs.h:" + std::to_string(kFirstStore + 1), "coda::select"});
  expect_parts(message_of<ReducesTwice>(), {"'sums' is written twice"});
}

TEST(Inspect, RefusesPortsThatAreNotTheProgramsOwn) {
  expect_parts(message_of<UsesAnothersPort>(),
               {"inspected_programs.h:", "no member of the program"});
  expect_parts(message_of<CopiesPort>(), {"no member of the program", "not copies"});
  expect_parts(message_of<StoresToACopy>(), {"no member of the program"});
  expect_parts(message_of<AsksForAnothersPort>(), {"no member of the program"});
}

TEST(Inspect, NamesPortsThatAreNeverUsed) {
  expect_parts(message_of<ForgetsOutput>(), {"output 'gate' is never written", "Optional"});
  expect_parts(message_of<WritesInOneWay>(), {"output 'scaled' is never written", "choice"});
  expect_parts(message_of<ForgetsInput>(), {"input 'scale' is never read", "load it"});
}

TEST(Inspect, RefusesWhatIsNaNWhateverTheInput) {
  expect_parts(message_of<ReducesNaN>(), {"inspected_programs.h:", "'top' is given NaN"});
  expect_parts(message_of<StoresNaN>(), {"inspected_programs.h:", "'out' is given NaN"});
}

TEST(Inspect, RefusesProgramsThatKeepSomething) {
  expect_parts(message_of<KeepsCount>(), {"the second time", "static or global variable"});
  expect_parts(message_of<KeepsOrder>(), {"the second time"});
}

TEST(Inspect, TriesReductions) {
  EXPECT_EQ(message_of<Reduces<Sum>>(), "");
  EXPECT_EQ(message_of<Reduces<Max>>(), "");
  EXPECT_EQ(message_of<Reduces<LogSumExp>>(), "");
  EXPECT_EQ(message_of<Reduces<Moments>>(), "");
  EXPECT_EQ(message_of<ReducesPlaces<ArgMax>>(), "");
  expect_parts(message_of<ReducesPlaces<ArgMaxOfSome>>(),
               {"a = {2, 2} and b = {2, 4}", "combine(b, a) is not combine(a, b)"});
  expect_parts(message_of<ReducesPlaces<ArgMinFromBelow>>(),
               {"combine(identity(), {-3, 0}) gives {-inf, inf}, expected {-3, 0}"});
  expect_parts(message_of<Reduces<ReducedBy<Larger>>>(),
               {"Larger", "of 'sums': combine(identity(), -3) gives 0, expected -3"});
  expect_parts(message_of<Reduces<ReducedBy<RootOfSquares>>>(),
               {"combine(identity(), -3) gives 3, expected -3"});
  expect_parts(message_of<Reduces<ReducedBy<Twice>>>(), {"combine(b, a) is not combine(a, b)"});
  expect_parts(message_of<Reduces<ReducedBy<Halves>>>(),
               {"combine(a, combine(b, c)) is not combine(combine(a, b), c)"});
}

std::string cases_message(const std::vector<std::string>& exact,
                          const std::map<std::string, catalogue::Values>& values) {
  catalogue::Operation operation{.name = "right", .exact = exact};
  operation.variants.resize(1);
  operation.variants[0].program = describe(Good{});
  operation.variants[0].values = values;
  try {
    inspect_cases(operation);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Inspect, RefusesCasesOfPortsThatThereAreNot) {
  using catalogue::Values;
  EXPECT_EQ(cases_message({"out", "before"}, {{"bias", Values::uniform(1, 1)}}), "");
  expect_parts(cases_message({"oot"}, {}),
               {"right_cases.h: exact: output 'oot': there is none, only before, out"});
  expect_parts(cases_message({"bias"}, {}), {"there is none, only before, out"});
  expect_parts(cases_message({}, {{"bais", Values::normal()}}),
               {"right_cases.h: values: input 'bais': there is none, only bias"});
  expect_parts(cases_message({}, {{"out", Values::normal()}}), {"there is none, only bias"});
  expect_parts(cases_message({}, {{"bias", Values::uniform(8, -8)}}),
               {"values of 'bias': expected low <= high, got 8 and -8"});
  expect_parts(cases_message({}, {{"bias", Values::integer(8, -8)}}), {"expected low <= high"});
  expect_parts(cases_message({}, {{"bias", Values::numbers({})}}), {"at least one number"});
}

TEST(Inspect, RefusesNamesThatMeanSomethingElse) {
  expect_parts(message_of<NamesTwice>(), {"'out' stands there twice"});
  expect_parts(message_of<NamedLikeAnOperand>(), {"'A' has a meaning in formulas"});
  expect_parts(message_of<NamedWithASpace>(), {"'the output' is no name", "letters"});
}

TEST(Inspect, KnowsTheWidthOfAHeadAsAFactor) {
  expect_parts(message_of<TurnsByHeadDim>(), {"head_dim()", "Scalar"});
}

TEST(Kernels, SayWhatEveryPortTakesOfSharedMemory) {
  EXPECT_TRUE(has_kernels<Good>());
  EXPECT_FALSE(has_kernels<TooManyTensors>());
  try {
    require_kernels<TooManyTensors>();
    FAIL() << "expected an error";
  } catch (const Error& error) {
    expect_parts(error.what(), {"too_many_tensors", "shared memory", "8192 bytes  a",
                                "8192 bytes  other", "512 bytes  scale", "bf16 instead of float"});
  }
}

TEST(Kernels, SayWhatEveryPortTakesOfRegisters) {
  EXPECT_FALSE(has_kernels<TooManyStates>());
  try {
    require_kernels<TooManyStates>();
    FAIL() << "expected an error";
  } catch (const Error& error) {
    expect_parts(error.what(), {"too_many_states", "take 90 registers of a thread, 80 are free",
                                "8 registers  a", "2 registers  sum", "fewer row reductions"});
  }
  constexpr auto kMany = detail::choose_kernels<ManyStates>();
  ASSERT_EQ(kMany.count, 1);
  EXPECT_EQ(kernel::kTileConfigs[kMany.choice[0].tile].columns, 128);
}

template <class P>
std::string kernels_message() {
  EXPECT_FALSE(has_kernels<P>());
  try {
    require_kernels<P>();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Kernels, HoldWholeRowPartials) {
  constexpr auto kAll = detail::choose_kernels<WidePartials<1>>();
  ASSERT_EQ(kAll.count, 1);
  EXPECT_EQ(kernel::kTileConfigs[kAll.choice[0].tile].columns, 128);
  const std::vector<TileFacts> facts = choose_tiles(describe(WidePartials<1>{}), false);
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].tile, kAll.choice[0].tile);
  expect_parts(kernels_message<WidePartials<2>>(),
               {"wide_partials: the row partials of 'total' cover 128 columns",
                "a tile with 2 accumulators has 64: partials of 64 columns"});
  EXPECT_THROW(choose_tiles(describe(WidePartials<2>{}), false), Error);
}

TEST(Kernels, LoadNoPairsOfTensors) {
  expect_parts(kernels_message<LoadsPairs>(),
               {"loads_pairs: 'residual' is a Paired<PerElement>", "it runs on the CPU as it is"});
}

TEST(Kernels, CoverEverySetOfOptionalOutputs) {
  constexpr auto kAll = detail::choose_kernels<Good>();
  int with = 0, without = 0;
  for (int i = 0; i < kAll.count; ++i) ++(kAll.choice[i].given == 0 ? without : with);
  EXPECT_EQ(with, 2);  // a wide and a narrow tile
  EXPECT_EQ(without, 2);
}

}  // namespace
}  // namespace coda::author
