// Files that are no safetensors files, or damaged ones: refused with the reason, never a crash.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include "coda/checkpoint/safetensors.h"
#include "tests/checkpoint/safetensors_bytes.h"
#include "tests/core/temporary_folder.h"
#include "tests/program/expect_error.h"

namespace coda::checkpoint {
namespace {

struct Damage {
  std::string name;
  std::string bytes;
  std::vector<std::string> reasons;
};

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

// A header of tensors and four bytes of data.
Damage of_header(const std::string& name, const std::string& header,
                 std::vector<std::string> reasons) {
  return {name, safetensors_bytes(header, "data"), std::move(reasons)};
}

Damage of_tensor(const std::string& name, const std::string& value,
                 std::vector<std::string> reasons) {
  return of_header(name, R"({"w":)" + value + "}", std::move(reasons));
}

std::vector<Damage> damages() {
  const std::string good = R"({"w":)" + entry("F32", "[1]", "[0,4]") + "}";
  const std::string half = entry("BF16", "[1]", "[0,2]");
  std::string eight(8, '\0');
  std::vector<Damage> list = {
      {"Empty", "", {"not a safetensors file", "0 bytes"}},
      {"Short", "abc", {"not a safetensors file", "3 bytes"}},
      {"Zeros", std::string(100, '\0'), {"not a safetensors file", "length of 0"}},
      {"Text", "These are no weights at all.", {"not a safetensors file"}},
      {"Pointer", "version https://git-lfs.github.com/spec/v1\n", {"Git LFS pointer"}},
      {"Torch", std::string("PK\x03\x04\0\0\x08\x08\0\0", 10), {"a PyTorch file"}},
      {"Gguf", std::string("GGUF\3\0\0\0\0\0\0\x80", 12), {"a GGUF file"}},
      {"Brace", safetensors_bytes("[]", ""), {"does not begin with '{'"}},
      {"LongHeader", safetensors_bytes(good, "data").substr(0, 30), {"truncated", "header of"}},
      {"Huge", std::string("\0\xe1\xf5\x05\0\0\0\0{", 9), {"truncated", "header of 100000000"}},
      {"TooLong", std::string("\1\xe1\xf5\x05\0\0\0\0{", 9), {"not a safetensors", "100000001"}},
      {"Truncated", safetensors_bytes(good, "dat"), {"truncated", "take 4 bytes, and 3"}},
      {"Trailing", safetensors_bytes(good, "data+"), {"1 bytes after the last tensor"}},
      {"NoTensors", safetensors_bytes("{}", "data"), {"4 bytes after the last tensor"}},
      of_header("NotJson", R"({"w":)", {"not valid JSON"}),
      of_header("AfterJson", good + "}", {"not valid JSON"}),
      of_header("NotUtf8", "{\"\xff\":1}", {"not valid JSON"}),
      of_header("Twice", R"({"w":)" + half + R"(,"w":)" + half + "}", {"'w' is there twice"}),
      of_header("Deep", R"({"w":)" + std::string(100000, '['), {"nested"}),
      of_header("Metadata", R"({"__metadata__":{"a":1}})", {"__metadata__.a", "a string"}),
      of_header("MetadataList", R"({"__metadata__":[]})", {"__metadata__", "JSON object"}),
      of_header("Overlap", R"({"v":)" + half + R"(,"w":)" + entry("BF16", "[1]", "[1,3]") + "}",
                {"'w' begins at byte 1", "expected 2", "overlaps"}),
      of_header("SamePlace", R"({"v":)" + half + R"(,"w":)" + half + "}", {"'w'", "overlaps"}),
      of_header("Gap", R"({"v":)" + half + R"(,"w":)" + entry("BF16", "[0]", "[4,4]") + "}",
                {"'w' begins at byte 4", "belong to none"}),
      of_tensor("Beyond", entry("F32", "[2]", "[0,8]"), {"truncated", "take 8 bytes"}),
      of_tensor("LateStart", entry("BF16", "[1]", "[2,4]"), {"'w' begins at byte 2"}),
      of_tensor("NoObject", "3", {"'w'", "a JSON object", "got 3"}),
      of_tensor("NoType", R"({"shape":[1],"data_offsets":[0,4]})", {"'w.dtype' is missing"}),
      of_tensor("OtherType", entry("F33", "[1]", "[0,4]"), {"'w.dtype'", "F33"}),
      of_tensor("NoShape", R"({"dtype":"F32","data_offsets":[0,4]})", {"'w.shape' is missing"}),
      of_tensor("Negative", entry("F32", "[-1]", "[0,4]"), {"'w.shape' is [-1]"}),
      of_tensor("Fraction", entry("F32", "[1.0]", "[0,4]"), {"'w.shape' is [1.0]"}),
      of_tensor("Enormous", entry("F32", "[18446744073709551617]", "[0,4]"), {"'w.shape'"}),
      of_tensor("Overflow", entry("F32", "[4294967296,4294967296]", "[0,4]"),
                {"'w.shape'", "more elements"}),
      of_tensor("OverflowToRight", entry("F32", "[4611686018427387905]", "[0,4]"), {"'w.shape'"}),
      of_tensor("NoOffsets", R"({"dtype":"F32","shape":[1]})", {"'w.data_offsets' is missing"}),
      of_tensor("OneOffset", entry("F32", "[1]", "[4]"), {"'w.data_offsets'", "[begin, end]"}),
      of_tensor("Backwards", entry("F32", "[1]", "[4,0]"), {"'w.data_offsets'", "begin <= end"}),
      of_tensor("NegativeOffset", entry("F32", "[1]", "[-4,0]"), {"'w.data_offsets'"}),
      of_tensor("WrongSize", entry("F32", "[2]", "[0,4]"), {"4 bytes", "[2] of F32", "64 bits"}),
      of_tensor("HalfByte", entry("F4", "[7]", "[0,3]"), {"28 bits"}),
  };
  return list;
}

class DamagedSafetensors : public testing::TestWithParam<Damage> {};

TEST_P(DamagedSafetensors, AreRefusedWithTheReason) {
  const TemporaryFolder folder;
  write_all(folder / "x", GetParam().bytes);
  try {
    const SafetensorsFile file(folder / "x");
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find(folder / "x"), std::string::npos) << message;
    for (const std::string& reason : GetParam().reasons) {
      EXPECT_NE(message.find(reason), std::string::npos) << message << "\nlacks " << reason;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DamagedSafetensors, testing::ValuesIn(damages()),
                         [](const auto& info) { return info.param.name; });

TEST_F(InFolder, OnlyRegularFilesAreRead) {
  expect_error([&] { SafetensorsFile file(folder_ / "x"); }, {folder_ / "x", "No such file"});
  expect_error([&] { SafetensorsFile file(folder_.path()); }, {folder_.path(), "regular file"});
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  expect_error([&] { SafetensorsFile file(folder_ / "pipe"); }, {"regular file"});
}

// A file with three tensors, from our own writer.
std::string good_file(const std::string& path) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  write_safetensors(path, std::vector{tensor_record("a", DType::kFp32, {2, 3}, values.data()),
                                      tensor_record("b.weight", DType::kBf16, {4}, values.data()),
                                      tensor_record("c", DType::kFp16, {1, 2}, values.data())});
  return read_all(path);
}

// Refused, or whole: every byte of every tensor may be read.
bool is_read(const std::string& path) {
  try {
    const SafetensorsFile file(path);
    unsigned sum = 0;
    for (const NamedShape& tensor : file.shapes()) {
      try {
        const TensorRecord record = file.tensor(tensor.name);
        const auto* bytes = static_cast<const unsigned char*>(record.data);
        for (int64_t i = 0; i < record.bytes; ++i) sum += bytes[i];
      } catch (const Error& error) {  // of a type that is not read
        RC_ASSERT(std::string(error.what()).find("supported are") != std::string::npos);
      }
    }
    return sum != UINT32_MAX;
  } catch (const Error& error) {
    RC_ASSERT(std::string(error.what()).find(path) != std::string::npos);
    return false;
  }
}

TEST_F(InFolder, EveryTruncationAndExtensionIsRefused) {
  const std::string good = good_file(folder_ / "x");
  ASSERT_TRUE(is_read(folder_ / "x"));
  for (size_t size = 0; size < good.size(); ++size) {
    write_all(folder_ / "x", good.substr(0, size));
    EXPECT_FALSE(is_read(folder_ / "x")) << size;
  }
  write_all(folder_ / "x", good + '\0');
  EXPECT_FALSE(is_read(folder_ / "x"));
}

RC_GTEST_PROP(DamagedSafetensorsProperty, FlippedBytesNeverCrash, ()) {
  const TemporaryFolder folder;
  std::string bytes = good_file(folder / "x");
  const auto flips = *rc::gen::inRange(1, 6);
  for (int i = 0; i < flips; ++i) {
    bytes[*rc::gen::inRange<size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
  }
  write_all(folder / "x", bytes);
  is_read(folder / "x");
}

RC_GTEST_PROP(DamagedSafetensorsProperty, DigitsOfTheHeaderNeverCrash, ()) {
  const TemporaryFolder folder;
  std::string bytes = good_file(folder / "x");
  for (char& byte : bytes) {
    const bool digit = byte >= '0' && byte <= '9';
    if (digit && *rc::gen::inRange(0, 4) == 0) {
      byte = *rc::gen::element('0', '1', '5', '9', '-', '.', 'e', ',');
    }
  }
  write_all(folder / "x", bytes);
  is_read(folder / "x");
}

}  // namespace
}  // namespace coda::checkpoint
