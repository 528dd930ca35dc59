// Safetensors files: what is written is read again, and the bytes are those of the format.
#include "coda/checkpoint/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <limits>

#include "tests/checkpoint/safetensors_bytes.h"
#include "tests/core/temporary_folder.h"
#include "tests/program/expect_error.h"

namespace coda::checkpoint {
namespace {

using Safetensors = InFolder;

std::string bytes_of(const TensorRecord& tensor) {
  return {static_cast<const char*>(tensor.data), static_cast<size_t>(tensor.bytes)};
}

TEST_F(Safetensors, AreWrittenAsTheFormatSays) {
  const std::vector<float> floats = {1, 2};
  const std::vector<uint16_t> halves = {0x3f80, 0x4000, 0x4040};
  const std::vector<int64_t> numbers = {7};
  const std::vector<TensorRecord> tensors = {
      tensor_record("b", DType::kBf16, {3}, halves.data()),
      tensor_record("z", DType::kFp32, {2, 1}, floats.data()),
      tensor_record("empty", DType::kFp32, {0, 4}, nullptr),
      tensor_record("n", DType::kInt64, {}, numbers.data()),
      tensor_record("a", DType::kBf16, {3}, halves.data()),
      tensor_record("h", DType::kFp16, {3}, halves.data())};
  write_safetensors(folder_ / "x", tensors);
  std::string header = R"({"__metadata__":{"format":"pt"},)"
                       R"("n":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
                       R"("empty":{"dtype":"F32","shape":[0,4],"data_offsets":[8,8]},)"
                       R"("z":{"dtype":"F32","shape":[2,1],"data_offsets":[8,16]},)"
                       R"("a":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]},)"
                       R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[22,28]},)"
                       R"("h":{"dtype":"F16","shape":[3],"data_offsets":[28,34]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  const std::string three("\x80\x3f\x00\x40\x40\x40", 6);
  const std::string data = std::string("\7\0\0\0\0\0\0\0", 8) +
                           std::string("\0\0\x80\x3f\0\0\0\x40", 8) + three + three + three;
  EXPECT_EQ(read_all(folder_ / "x"), safetensors_bytes(header, data));
}

RC_GTEST_PROP(SafetensorsProperty, AreReadAsTheyWereWritten, ()) {
  const TemporaryFolder folder;
  const auto count = *rc::gen::inRange<size_t>(0, 8);
  std::vector<std::string> data;
  std::vector<TensorRecord> tensors;
  for (size_t i = 0; i < count; ++i) {
    const auto dtype =
        *rc::gen::element(DType::kBf16, DType::kFp16, DType::kFp32, DType::kInt32, DType::kInt64);
    const auto shape = *rc::gen::resize(
        3, rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(0, 5)));
    // Names with quotes, slashes and letters beyond ASCII must survive the JSON.
    const std::string name =
        *rc::gen::element<std::string>("a", "layers.", "\"\\/", "\xc3\xa9\n") + std::to_string(i);
    tensors.push_back(tensor_record(name, dtype, shape, nullptr));
    data.push_back(*rc::gen::container<std::string>(static_cast<size_t>(tensors.back().bytes),
                                                    rc::gen::arbitrary<char>()));
  }
  for (size_t i = 0; i < count; ++i) tensors[i].data = data[i].data();
  const std::map<std::string, std::string> metadata = {{"step", "12"}, {"seed", "\"3\""}};
  write_safetensors(folder / "x", tensors, metadata);

  const SafetensorsFile file(folder / "x");
  RC_ASSERT(file.metadata() == metadata);
  RC_ASSERT(file.shapes().size() == count);
  for (size_t i = 0; i < count; ++i) {
    const TensorRecord read = file.tensor(tensors[i].name);
    RC_ASSERT(read.name == tensors[i].name);
    RC_ASSERT(read.dtype == tensors[i].dtype);
    RC_ASSERT(read.shape == tensors[i].shape);
    RC_ASSERT(bytes_of(read) == data[i]);
    RC_ASSERT(reinterpret_cast<uintptr_t>(read.data) % dtype_bytes(read.dtype) == 0);
  }
}

TEST_F(Safetensors, GoThroughACopyInPieces) {
  std::vector<float> values((5 << 20) + 3);  // 20 MiB and a bit: more than one piece
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const std::vector<TensorRecord> tensors = {
      tensor_record("w", DType::kFp32, {static_cast<int64_t>(values.size())}, values.data())};
  int64_t copied = 0;
  write_safetensors(folder_ / "copied", tensors, {},
                    [&](void* to, const void* from, int64_t bytes) {
                      copied += bytes;
                      std::memcpy(to, from, static_cast<size_t>(bytes));
                    });
  write_safetensors(folder_ / "direct", tensors, {});
  EXPECT_EQ(copied, tensors[0].bytes);
  EXPECT_EQ(read_all(folder_ / "copied"), read_all(folder_ / "direct"));
}

TEST_F(Safetensors, OtherTypesAreRefusedWhenAskedFor) {
  write_all(folder_ / "x",
            safetensors_bytes(R"({"f8":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]},)"
                              R"("f4":{"dtype":"F4","shape":[3,2],"data_offsets":[4,7]},)"
                              R"("w":{"dtype":"BF16","shape":[1],"data_offsets":[7,9]}})",
                              std::string("abcdefg\x80\x3f", 9)));
  const SafetensorsFile file(folder_ / "x");
  std::vector<float> value(1);
  copy_elements(file.tensor("w"), value);  // at an odd address
  EXPECT_EQ(value[0], 1.0f);
  expect_error([&] { file.tensor("f8"); }, {folder_ / "x", "'f8'", "F8_E4M3", "BF16, F16, F32"});
  expect_error([&] { file.tensor("f4"); }, {folder_ / "x", "'f4'", "F4"});
  expect_error([&] { file.tensor("v"); }, {folder_ / "x", "no tensor 'v'"});
}

TEST_F(Safetensors, ElementsAreConverted) {
  const float inf = std::numeric_limits<float>::infinity();
  // Between bf16's 1 and 1 + 2^-7: below the middle, the middle (to even), above.
  const std::vector<float> values = {0, -2.5f, inf, 1 + 0x1p-9f, 1 + 0x1p-8f, 1 + 0x1.8p-8f};
  const std::vector<uint16_t> rounded = {0, 0xc020, 0x7f80, 0x3f80, 0x3f80, 0x3f81};
  std::vector<bf16> narrow(6);
  copy_elements(tensor_record("w", DType::kFp32, {2, 3}, values.data()), narrow);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(narrow[i].bits, rounded[i]) << i;

  const std::vector<uint16_t> halves = {0x3c00, 0xc100, 0x0001};  // 1, -2.5, 2^-24
  std::vector<float> wide(3);
  copy_elements(tensor_record("w", DType::kFp16, {3}, halves.data()), wide);
  EXPECT_EQ(wide, (std::vector<float>{1, -2.5f, 0x1p-24f}));
  copy_elements(tensor_record("w", DType::kBf16, {3}, rounded.data() + 1), wide);
  EXPECT_EQ(wide, (std::vector<float>{-2.5f, inf, 1}));

  expect_error([&] { copy_elements(tensor_record("w", DType::kFp32, {5}, values.data()), narrow); },
               {"'to'", "5 elements of 'w'", "got 6"});
  const std::vector<int64_t> numbers(3);
  expect_error([&] { copy_elements(tensor_record("n", DType::kInt64, {3}, numbers.data()), wide); },
               {"'n'", "F32", "int64"});
}

TEST_F(Safetensors, WhatCannotBeWrittenIsRefusedBeforehand) {
  const float value = 0;
  const TensorRecord good = tensor_record("w", DType::kFp32, {1}, &value);
  const auto write = [&](std::vector<TensorRecord> tensors) {
    write_safetensors(folder_ / "x", tensors);
  };
  expect_error([&] { write({good, good}); }, {folder_ / "x", "'w'", "taken"});
  expect_error([&] { write({tensor_record("__metadata__", DType::kFp32, {1}, &value)}); },
               {"taken"});
  expect_error([&] { write({tensor_record("w", DType::kFp32, {1}, nullptr)}); },
               {"'w'", "no data"});
  expect_error([&] { write({tensor_record("\xff", DType::kFp32, {1}, &value)}); }, {"UTF-8"});
  TensorRecord shorter = good;
  shorter.bytes = 3;
  expect_error([&] { write({shorter}); }, {"'w'", "takes 4 bytes, got 3"});
  expect_error([] { tensor_record("w", DType::kFp32, {-1}, nullptr); }, {"'w'", "[-1]"});
  expect_error([] { tensor_record("w", DType::kFp32, {1LL << 61, 2}, nullptr); },
               {"'w'", "memory"});
  expect_error([] { tensor_record("w", DType::kState, {1}, nullptr); }, {"dtype", "state"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
}

}  // namespace
}  // namespace coda::checkpoint
