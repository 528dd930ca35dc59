// The C interface: what does not fit is refused with a message instead of an exception.
#include <cstring>

#include "tests/catalogue/capi_fixture.h"

namespace {

using namespace coda_c;

TEST_F(CApi, RefusesNames) {
  expect_refused(run(nullptr), {"operation", "null"});
  expect_refused(run("linaer"), {"linaer", "did you mean 'linear'"});
  expect_refused(run("linear", "fp23"), {"fp23", "fp32"});
  arguments[0].name = "ouput";
  expect_refused(run(), {"linear", "ouput", "out"});
  arguments[0].name = nullptr;
  expect_refused(run(), {"name", "null"});
}

TEST_F(CApi, RefusesAnUnknownActivation) {
  b_operand = {&b_tensor, &b2_tensor, 1, CODA_CUT_NONE, 0};
  arguments.push_back({"activation", nullptr, 0, 4.0});
  expect_refused(run("linear_swiglu"), {"'activation'", "0 to 3", "got 4"});
  arguments.back().number = 1.5;
  expect_refused(run("linear_swiglu"), {"'activation'", "int32", "1.5"});
  arguments.back().number = 3;
  EXPECT_EQ(run("linear_swiglu"), CODA_OK) << coda_last_error();
}

TEST_F(CApi, RefusesTypes) {
  expect_refused(run("linear", "bf16"), {"'A'", "bf16", "fp32"});
  a_tensor.dtype = 99;
  expect_refused(run(), {"'A'", "coda_dtype", "99"});
  a_tensor.dtype = CODA_INT64;
  expect_refused(run(), {"'A'", "int64"});
  a_tensor.dtype = CODA_FP32;
  out_tensor.dtype = CODA_BF16;
  expect_refused(run(), {"'out'", "fp32", "bf16"});
}

TEST_F(CApi, RefusesOperands) {
  b_operand.segments = 5;
  expect_refused(run(), {"'B'", "1 to 4", "5"});
  b_operand.segments = -1;
  expect_refused(run(), {"'B'", "1 to 4", "-1"});
  b_operand.segments = 2;
  expect_refused(run(), {"'B'", "CODA_CUT_ROWS"});
  b_operand = {&b_tensor, nullptr, 1, 7, 0};
  expect_refused(run(), {"'B'", "coda_cut", "7"});
  b_operand = {&b_tensor, &b2_tensor, 1, CODA_CUT_NONE, 0};
  expect_refused(run(), {"'B'", "one operand"});
  b_operand.head_dim = 2;
  expect_refused(run("linear_swiglu"), {"'B'", "pair", "both"});
  b_operand = {nullptr, nullptr, 1, CODA_CUT_NONE, 0};
  expect_refused(run(), {"'B'", "null"});
  b_operand = {&b_tensor, nullptr, 1, CODA_CUT_NONE, 0};
  b_tensor.data = nullptr;
  expect_refused(run(), {"'B'", "null"});
  EXPECT_EQ(coda_run("linear", nullptr, nullptr, &b_operand, nullptr, 0, nullptr),
            CODA_BAD_ARGUMENT);
  EXPECT_NE(std::strstr(coda_last_error(), "'A'"), nullptr);
}

TEST_F(CApi, RefusesExtents) {
  const auto refused = [&](coda_tensor& tensor, auto change,
                           const std::vector<std::string>& parts) {
    const coda_tensor before = tensor;
    change(tensor);
    expect_refused(run(), parts);
    tensor = before;
  };
  refused(a_tensor, [](auto& t) { t.rows = -1; }, {"'A'", "at least 0", "-1"});
  refused(a_tensor, [](auto& t) { t.columns = kK - 1; }, {"'B'", "contraction", "44", "45"});
  refused(a_tensor, [](auto& t) { t.ld = kK - 1; }, {"'A'", "leading dimension", "45", "44"});
  refused(a_tensor, [](auto& t) { t.rows = int64_t{1} << 40; }, {"'A'", "2147483647"});
  refused(a_tensor, [](auto& t) { t.ld = INT64_MAX / 2; }, {"'A'", "2^63"});
  refused(b_tensor, [](auto& t) { t.rows = kN + 1; }, {"'out'", "[37, 71]", "[37, 70]"});
  refused(out_tensor, [](auto& t) { t.rows = kM - 1; }, {"'out'", "[37, 70]", "[36, 70]"});
  refused(out_tensor, [](auto& t) { t.column_major = 1; }, {"'out'", "row-major"});
  refused(out_tensor, [](auto& t) { t.data = nullptr; }, {"'out'", "null"});
  refused(out_tensor, [](auto& t) { t.data = static_cast<char*>(t.data) + 1; },
          {"'out'", "aligned to 4"});
}

TEST_F(CApi, RefusesOverlap) {
  const std::vector<float> before = a;
  out_tensor.data = a.data();  // A is long enough for the first rows alone, and is read
  expect_refused(run(), {"'out'", "A"});
  EXPECT_EQ(a, before);
}

TEST_F(CApi, RefusesHeads) {
  const auto refused = [&](int64_t head_dim, const std::vector<std::string>& parts) {
    b_operand.head_dim = head_dim;
    expect_refused(run("linear_swiglu"), parts);
  };
  refused(-2, {"'B'", "head_dim", "-2"});
  refused(7, {"'B'", "even", "7"});
  refused(4, {"'B'", "multiple of head_dim = 4", "70"});
  refused(4096, {"'B'", "at most", "4096"});
}

TEST_F(CApi, RefusesParameters) {
  b_operand.second = &b2_tensor;
  std::vector<float> squares(static_cast<size_t>(kM), 8.0f);
  const coda_tensor squares_tensor = matrix(squares, 1, kM);
  const auto refused = [&](std::vector<coda_argument> more, const std::vector<std::string>& parts) {
    const std::vector<coda_argument> before = arguments;
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refused(run("linear_swiglu"), parts);
    arguments = before;
  };
  const coda_tensor twice[] = {squares_tensor, squares_tensor};
  const coda_argument rstd = port("rstd", squares_tensor);
  refused({rstd}, {"'rstd.width'", "a number beside 'rstd'"});
  refused({{"rstd.width", nullptr, 0, 2}}, {"'rstd' beside it"});
  refused({rstd, port("rstd.width", squares_tensor)}, {"'rstd.width'", "a number", "a tensor"});
  const auto finished = [&](double width, double epsilon) -> std::vector<coda_argument> {
    return {rstd, {"rstd.width", nullptr, 0, width}, {"rstd.epsilon", nullptr, 0, epsilon}};
  };
  refused(finished(0, 0), {"'rstd.width'", "a number above 0", "got 0"});
  refused(finished(NAN, 0), {"'rstd.width'", "a number above 0", "nan"});
  refused(finished(kK, -1), {"'rstd.epsilon'", "a number, 0 or more", "-1"});
  refused(finished(kK, 1e300), {"'rstd.epsilon'", "a number, 0 or more", "1e+300"});
  refused({{"gate", nullptr, 0, 2}}, {"'gate'", "a tensor [M, N]", "a number"});
  refused({{"rstd", twice, 2, 0}}, {"'rstd'", "1 segment", "2"});
  refused({{"rstd", twice, 9, 0}}, {"'rstd'", "1 to 4", "9"});
}

TEST_F(CApi, RefusesArguments) {
  EXPECT_EQ(coda_run("linear", nullptr, &a_operand, &b_operand, nullptr, 2, nullptr),
            CODA_BAD_ARGUMENT);
  EXPECT_EQ(coda_run("linear", nullptr, &a_operand, &b_operand, nullptr, -1, nullptr),
            CODA_BAD_ARGUMENT);
  arguments.push_back(arguments[0]);
  expect_refused(run(), {"'out'", "several"});
  arguments.clear();
  expect_refused(run(), {"'out'", "missing"});
}

TEST_F(CApi, RefusesOptions) {
  const auto refused = [&](auto change, const std::vector<std::string>& parts) {
    coda_options options = defaults();
    change(options);
    expect_refused(run("linear", nullptr, &options), parts);
  };
  refused([](auto& o) { o.threads = -1; }, {"options.threads", "-1"});
  refused([](auto& o) { o.isa = "mmx"; }, {"mmx", "portable"});
  refused([](auto& o) { o.device = 7; }, {"options.device", "CODA_CUDA", "7"});
  refused([](auto& o) { o.gpu = -2; }, {"options.gpu", "-2"});
  refused([](auto& o) { o.workspace_bytes = -1; }, {"options.workspace_bytes", "-1"});
  refused([](auto& o) { o.threads = 1 << 30; }, {"options.threads", "0 to 1024", "1073741824"});
  refused([](auto& o) { o.size = 0; }, {"options.size", "sizeof(coda_options)", "0"});
  refused([](auto& o) { o.size = UINT64_MAX; }, {"options.size", "sizeof(coda_options)", "1844"});
}

TEST_F(CApi, TakesOptionsOfALaterVersion) {
  struct {
    coda_options known;
    int64_t later;
  } options = {defaults(), 0};
  options.known.size = sizeof(options);
  EXPECT_EQ(run("linear", nullptr, &options.known), CODA_OK) << coda_last_error();
  out.assign(out.size(), NAN);
  options.later = 1;
  expect_refused(run("linear", nullptr, &options.known), {"options.size", "later version"});
}

// Host memory, whether or not there is a GPU: a clear answer, and nothing is touched.
TEST_F(CApi, SaysWhyCudaIsNotPossible) {
  coda_options options = defaults();
  options.device = CODA_CUDA;
  const coda_status status = run("linear", "bf16-fp32", &options);
  EXPECT_EQ(status, CODA_BAD_ARGUMENT);  // of the types, before any device is asked
  EXPECT_EQ(run("linear", "fp32", &options), CODA_DEVICE_ERROR);
  const std::string message = coda_last_error();
  EXPECT_TRUE(message.find("without CUDA") != message.npos ||
              message.find("no kernels for CUDA") != message.npos)
      << message;
  int64_t bytes = -1;
  EXPECT_EQ(coda_workspace_bytes("linear", "fp32", &a_operand, &b_operand, arguments.data(), 1,
                                 &options, &bytes),
            CODA_DEVICE_ERROR);
  EXPECT_EQ(bytes, -1);
  for (const float value : out) ASSERT_TRUE(std::isnan(value));
}

TEST(CApiListing, RefusesWhatThereIsNot) {
  EXPECT_EQ(coda_operation_name(-1), nullptr);
  EXPECT_EQ(coda_variant_name("linaer", 0), nullptr);
  EXPECT_NE(std::strstr(coda_last_error(), "linear"), nullptr);
  EXPECT_EQ(coda_variant_name(nullptr, 0), nullptr);
  EXPECT_EQ(coda_has_operands("linaer"), -1);
  EXPECT_EQ(coda_parameter_name("linear", nullptr, 0), nullptr);
  coda_port port{.size = sizeof(coda_port)};
  EXPECT_EQ(coda_get_port("linear", "fp23", 0, &port), CODA_BAD_ARGUMENT);
  EXPECT_EQ(coda_get_port("linear", "fp32", -1, &port), CODA_BAD_ARGUMENT);
  EXPECT_EQ(coda_get_port("linear", "fp32", 0, nullptr), CODA_BAD_ARGUMENT);
  port.size = 8;
  EXPECT_EQ(coda_get_port("linear", "fp32", 0, &port), CODA_BAD_ARGUMENT);
  EXPECT_NE(std::strstr(coda_last_error(), "8"), nullptr);
  port.size = uint64_t{1} << 40;  // of memory that nobody has
  EXPECT_EQ(coda_get_port("linear", "fp32", 0, &port), CODA_BAD_ARGUMENT);
  EXPECT_NE(std::strstr(coda_last_error(), "1099511627776"), nullptr);
}

}  // namespace
