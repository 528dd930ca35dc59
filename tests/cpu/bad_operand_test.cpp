// Operands that do not fit, or cannot be read.
#include "tests/cpu/bad_input.h"

namespace coda::cpu {
namespace {

using Case = BadCase<PlainCall>;
constexpr int64_t kTooMany = int64_t{1} << 31;

const Case kCases[] = {
    {"NullA", [](auto& c) { c.A().data = nullptr; }, {"'A'", "420 elements", "a null pointer"}},
    {"NullB", [](auto& c) { c.B().data = nullptr; }, {"'B'", "780 elements", "a null pointer"}},
    {"NegativeRowsOfA", [](auto& c) { c.A().rows = -1; }, {"'A'", "at least 0", "[-1, 6]"}},
    {"NegativeColumnsOfA", [](auto& c) { c.A().columns = -6; }, {"'A'", "at least 0", "[70, -6]"}},
    {"NegativeRowsOfB", [](auto& c) { c.B().rows = -130; }, {"'B'", "at least 0", "[-130, 6]"}},
    {"NegativeColumnsOfB", [](auto& c) { c.B().columns = -1; }, {"'B'", "at least 0", "[130, -1]"}},
    {"LeadingDimensionOfA", [](auto& c) { c.A().ld = 5; }, {"'A'", "at least 6", "got 5"}},
    {"LeadingDimensionOfColumnMajorA",
     [](auto& c) {
       c.A().major = Major::kColumn;
       c.A().ld = 69;
     },
     {"'A'", "at least 70", "got 69"}},
    {"LeadingDimensionOfB", [](auto& c) { c.B().ld = 0; }, {"'B'", "at least 6", "got 0"}},
    {"NegativeLeadingDimension", [](auto& c) { c.B().ld = -6; }, {"'B'", "at least 6", "got -6"}},
    {"UnalignedA",
     [](auto& c) { c.A().data = misaligned(c.a.data()); },
     {"'A'", "aligned to 2 bytes"}},
    {"UnalignedB",
     [](auto& c) { c.B().data = misaligned(c.b.data()); },
     {"'B'", "aligned to 2 bytes"}},
    {"HalfAlignedFloats",
     [](auto& c) {
       c.A() = erase(Matrix<const float>(c.element.data(), 70, 6));
       c.A().data = reinterpret_cast<const char*>(c.element.data()) + 2;
     },
     {"'A'", "aligned to 4 bytes", "address 0x"}},
    {"IntegerA",
     [](auto& c) { c.A().dtype = DType::kInt32; },
     {"'A'", "bf16, fp16 or fp32", "int32"}},
    {"IntegerB",
     [](auto& c) { c.B().dtype = DType::kInt64; },
     {"'B'", "bf16, fp16 or fp32", "int64"}},
    {"StateAsOperand", [](auto& c) { c.B().dtype = DType::kState; }, {"'B'", "fp32", "state"}},
    {"SizeOfElements",
     [](auto& c) { c.A().element_bytes = 4; },
     {"'A'", "elements of 2 bytes", "got 4"}},
    {"TypesOfAAndBDiffer",
     [](auto& c) { c.B().dtype = DType::kFp16; },
     {"'B'", "type bf16 as in A", "fp16"}},
    {"ContractionsDiffer",
     [](auto& c) { c.B().columns = 5; },
     {"'B'", "a contraction of 6 as in A", "got 5"}},
    {"OnlyOneIsEmptyAlongK",
     [](auto& c) { c.A().columns = 0; },
     {"'B'", "a contraction of 0", "got 6"}},
    {"TooManyRowsOfA",
     [](auto& c) { c.A().rows = kTooMany; },
     {"'A'", "at most 2147483647", "[2147483648, 6]"}},
    {"TooManyRowsOfB",
     [](auto& c) { c.B().rows = kTooMany; },
     {"'B'", "at most 2147483647", "[2147483648, 6]"}},
    {"TooLongAContraction",
     [](auto& c) { c.A().columns = kTooMany; },
     {"'A'", "at most 2147483647"}},
    {"BytesOfAOverflow",
     [](auto& c) { c.A().ld = int64_t{1} << 62; },
     {"'A'", "below 2^63", "70 lines with a leading dimension of 4611686018427387904"}},
    {"BytesOfBOverflow",
     [](auto& c) {
       c.B().rows = 2147483647;
       c.B().ld = int64_t{1} << 32;
     },
     {"'B'", "below 2^63", "2147483647 lines"}},
    {"EndOfAOverflows",  // the size fits, the address of the end does not
     [](auto& c) { c.A().ld = ((int64_t{1} << 62) - 4096) / 69; },
     {"'A'", "below 2^63"}},
    {"NoSegments", [](auto& c) { c.a_view.segments = 0; }, {"'A'", "1 to 4 segments", "got 0"}},
    {"FiveSegments", [](auto& c) { c.b_view.segments = 5; }, {"'B'", "1 to 4 segments", "got 5"}},
    {"SegmentsWithoutACut",
     [](auto& c) {
       c.b_view.segments = 2;
       c.b_view.part[0][1] = c.B();
     },
     {"'B'", "a cut along the rows or the contraction", "none"}},
    {"NoAccumulator",
     [](auto& c) { c.b_view.accumulators = 0; },
     {"'B'", "1 or 2 accumulators", "got 0"}},
    {"ThreeAccumulators", [](auto& c) { c.b_view.accumulators = 3; }, {"'B'", "1 or 2", "got 3"}},
    {"PairForOneAccumulator",
     [](auto& c) { c.b_view = pair(c.b.view(), c.b.view()); },
     {"'B'", "one operand for one accumulator", "a pair"}},
    {"HalvesForOneAccumulator",
     [](auto& c) { c.b_view = halves(2, c.b.view()); },
     {"'B'", "one operand for one accumulator", "a pair"}},
    {"HeadsWithoutHalves",
     [](auto& c) { c.b_view.head_dim = 2; },
     {"'B'", "two accumulators for halves", "one"}},
    {"PairAsA",
     [](auto& c) { c.a_view = pair(c.a.view(), c.a.view()); },
     {"'A'", "one operand for all", "a pair"}},
    {"DefaultOperand", [](auto& c) { c.a_view = Operand<bf16>(); }, {"'B'", "as in A"}},
};

class BadOperandTest : public testing::TestWithParam<Case> {};
TEST_P(BadOperandTest, IsRefused) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Cases, BadOperandTest, testing::ValuesIn(kCases), case_name<PlainCall>);

TEST(PlainCallTest, IsAcceptedUnspoiled) {
  PlainCall call;
  EXPECT_NO_THROW(call.run());
  EXPECT_FALSE(call.out.untouched());
}

TEST(OptionsTest, OfTheWrongKind) {
  const PlainCall call;
  const auto refused = [&](const Options& options, const std::string& text) {
    try {
      cpu::run(call.program, call.a_view, call.b_view, options);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
    EXPECT_TRUE(call.outputs_untouched());
  };
  refused({.threads = -1},
          "cpu::run: argument 'threads': expected 0 (the default) to 1024, got -1");
  refused({.threads = 1025}, "expected 0 (the default) to 1024, got 1025");
  refused({.isa = static_cast<Isa>(3)}, "cpu::run: argument 'isa'");
}

}  // namespace
}  // namespace coda::cpu
