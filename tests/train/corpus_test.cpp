// What a corpus holds, what it refuses, and with which words.
#include "coda/train/corpus.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "coda/core/error.h"
#include "tests/core/temporary_folder.h"
#include "tests/program/expect_error.h"

namespace coda::train {
namespace {

namespace fs = std::filesystem;

std::vector<int64_t> tokens_of(const Corpus& corpus) {
  std::vector<int64_t> tokens(static_cast<size_t>(corpus.size()));
  corpus.read(0, tokens);
  return tokens;
}

std::string text_of(const Corpus& corpus) {
  std::string text;
  for (const int64_t token : tokens_of(corpus)) text += static_cast<char>(token);
  return text;
}

template <class Token>
std::string as_bytes(const std::vector<Token>& tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(Token)};
}

void expect_refused(const std::vector<fs::path>& paths, const CorpusOptions& options,
                    const std::vector<std::string>& parts) {
  const std::string message = message_of([&] { Corpus(paths, options); });
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
  }
}

const CorpusOptions kShort{.sequence = 1};

TEST(Corpus, IsTheBytesOfAFile) {
  const TemporaryFolder folder;
  const std::string text = "tokens\xff\x80 are bytes\n";
  const Corpus corpus({folder.write("a.txt", text)}, kShort);
  EXPECT_EQ(text_of(corpus), text);
  EXPECT_EQ(tokens_of(corpus)[6], 255);
}

TEST(Corpus, JoinsTheFilesOfAFolderInOrder) {
  const TemporaryFolder folder;
  folder.write("z", "last");
  folder.write("b/two words.md", "third");
  folder.write(fs::path("b/\xff\xfe.md"), "fourth");  // not UTF-8
  folder.write("a", "x");
  folder.write("empty", "");
  folder.write("b/.hidden", "no");
  folder.write(".git/config", "no");
  folder.write("build/made.txt", "no");
  folder.write("build-debug/made.txt", "no");
  folder.write("out/CMakeCache.txt", "no");
  folder.write("runs/one/metrics.jsonl", "no");
  folder.write("runs/one/step-00000004/config.json", "no");
  folder.write("picture.png", std::string("P\0G", 3));
  const Corpus corpus({folder.path()}, kShort);
  EXPECT_EQ(text_of(corpus), "x\nthird\nfourth\nlast");
  ASSERT_EQ(corpus.files().size(), 4u);
  EXPECT_EQ(corpus.files()[3].path, folder.path() / "z");
  EXPECT_EQ(corpus.files()[3].first_token, 15);
}

// However it is named; files that are named themselves are taken.
TEST(Corpus, LeavesOutAFolderThatItIsGiven) {
  const TemporaryFolder folder;
  folder.write("a", "text");
  const fs::path inner = folder.write("run/log.txt", "no");
  folder.write("runs/b", "more");
  CorpusOptions options = kShort;
  for (const char* name : {"run", "run/", "./run", "runs/../run"}) {
    options.left_out = folder.path() / name;
    EXPECT_EQ(text_of(Corpus({folder.path()}, options)), "text\nmore") << name;
  }
  EXPECT_EQ(text_of(Corpus({folder.path(), inner}, options)), "text\nmore\nno");
  options.left_out = folder.path() / "not there";
  EXPECT_EQ(text_of(Corpus({folder.path()}, options)), "text\nno\nmore");
}

// More than there is memory for.
TEST(Corpus, ReadsNoMoreOfABinaryFileThanItHasTo) {
  const TemporaryFolder folder;
  folder.write("a", "text");
  std::error_code error;
  fs::resize_file(folder.write("weights", ""), uintmax_t{1} << 40, error);
  if (error) GTEST_SKIP() << "no file of 1 TiB: " << error.message();
  EXPECT_EQ(text_of(Corpus({folder.path()}, kShort)), "text");
}

TEST(Corpus, TakesNoFileTwice) {
  const TemporaryFolder folder;
  const fs::path a = folder.write("a", "first"), b = folder.write("b", "second");
  fs::create_symlink(b, folder.path() / "link");
  EXPECT_EQ(text_of(Corpus({b, folder.path(), a}, kShort)), "second\nfirst");
}

TEST(Corpus, LinksDoNotHoldItUp) {
  const TemporaryFolder folder;
  folder.write("d/a", "text");
  fs::create_directory_symlink(folder.path(), folder.path() / "d/up");
  fs::create_symlink("one", folder.path() / "other");
  fs::create_symlink("other", folder.path() / "one");
  fs::create_symlink("nowhere", folder.path() / "dangling");
  EXPECT_EQ(text_of(Corpus({folder.path()}, kShort)), "text");
  expect_refused({folder.path() / "one"}, kShort, {"one'", "symbolic links"});
  expect_refused({folder.path() / "dangling"}, kShort, {"dangling'", "no such file or folder"});
}

TEST(Corpus, NamesATokenFileThatWasCutShort) {
  const TemporaryFolder folder;
  const fs::path path = folder.write("a.bin", std::string(100'000, '\1'));
  const Corpus corpus({path}, {.sequence = 1, .vocab_size = 65536});
  fs::resize_file(path, 100);
  std::vector<int64_t> tokens(10);
  for (const int64_t first : {0, 49'000}) {
    expect_error([&] { corpus.read(first, tokens); }, {"a.bin", "cut short", "100000", "100"});
  }
  expect_error([&] { corpus.fingerprint(); }, {"a.bin", "cut short"});
}

TEST(Corpus, ReadsTokenFiles) {
  const TemporaryFolder folder;
  const std::vector<uint16_t> narrow{1, 65535, 256, 7};
  const std::vector<uint32_t> wide{1, 4294967295u, 65536, 7};
  const CorpusOptions options{.sequence = 1, .vocab_size = int64_t{1} << 32};
  using Tokens = std::vector<int64_t>;
  const fs::path plain = folder.write("a.bin", as_bytes(narrow));
  EXPECT_EQ(tokens_of(Corpus({plain}, options)), (Tokens{1, 65535, 256, 7}));
  EXPECT_EQ(tokens_of(Corpus({folder.write("a.u16.bin", as_bytes(narrow))}, options)),
            (Tokens{1, 65535, 256, 7}));
  const fs::path suffixed = folder.write("a b.u32.bin", as_bytes(wide));
  EXPECT_EQ(tokens_of(Corpus({suffixed}, options)), (Tokens{1, 4294967295, 65536, 7}));
  for (const char* name : {"a_u32.bin", "a-u32.bin", "u32.bin"}) {
    EXPECT_EQ(tokens_of(Corpus({folder.write(name, as_bytes(wide))}, options)),
              (Tokens{1, 4294967295, 65536, 7}));
  }
  EXPECT_EQ(tokens_of(Corpus({folder.write("menu32.bin", as_bytes(narrow))}, options)),
            (Tokens{1, 65535, 256, 7}));
  CorpusOptions typed = options;
  typed.token_type = TokenType::kUint32;
  EXPECT_EQ(tokens_of(Corpus({folder.write("b.bin", as_bytes(wide))}, typed)),
            (Tokens{1, 4294967295, 65536, 7}));
  typed.token_type = TokenType::kUint16;  // above the suffix
  EXPECT_EQ(Corpus({suffixed}, typed).size(), 8);
}

TEST(Corpus, HoldsOutItsEnd) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("a", std::string(1001, 'x'));
  const Corpus usual({file}, {.sequence = 9});
  EXPECT_EQ(usual.held_out_tokens(), 51);  // 5 %, rounded up
  EXPECT_EQ(usual.training_tokens(), 950);
  EXPECT_EQ(Corpus({file}, {.sequence = 99}).held_out_tokens(), 100);  // one window
  EXPECT_EQ(Corpus({file}, {.sequence = 9, .held_out_share = 0}).held_out_tokens(), 10);
  EXPECT_EQ(Corpus({file}, {.sequence = 9, .held_out_share = 0.999}).training_tokens(), 10);
  EXPECT_EQ(Corpus({file}, {.sequence = 499}).training_tokens(), 501);
  expect_refused({file}, {.sequence = 500}, {"1001 tokens", "of 500", "--seq 499"});
  expect_refused({file}, {.sequence = int64_t{1} << 62}, {"1001 tokens", "--seq 499"});
}

TEST(Corpus, RefusesTinyData) {
  const TemporaryFolder folder;
  expect_refused({folder.write("0", "")}, kShort, {"no text", "/0'", "1 files, 1 of them empty"});
  expect_refused({folder.write("1", "x")}, kShort,
                 {"1 tokens are too few", "4 tokens are the least"});
  expect_refused({folder.write("3", "xyz")}, kShort, {"3 tokens are too few", "more data"});
  EXPECT_EQ(Corpus({folder.write("4", "wxyz")}, kShort).training_tokens(), 2);
  expect_refused({folder.write("0.bin", "")}, kShort, {"0.bin'", "empty"});
  expect_refused({folder.write("1.bin", "x")}, kShort, {"1.bin'", "multiple of 2", "got 1"});
  expect_refused({folder.write("6.u32.bin", "123456")}, kShort,
                 {"multiple of 4", "uint32", "got 6"});
}

TEST(Corpus, RefusesWhatIsNoData) {
  const TemporaryFolder folder;
  const fs::path text = folder.write("t", "text"), token = folder.write("t.bin", "1234");
  expect_refused({}, kShort, {"no path given"});
  expect_refused({folder.path() / "no such"}, kShort, {"no such'", "no such file or folder"});
  expect_refused({text / "below a file"}, kShort, {"below a file'"});
  expect_refused({folder.path() / "no.bin"}, kShort, {"no.bin'", "no such file or folder"});
  expect_refused({text, token}, kShort, {"t.bin'", "only path", "got 2"});
  expect_refused({text}, {.sequence = 1, .token_type = TokenType::kUint16}, {"token_type", "/t'"});
  ASSERT_EQ(mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((folder.path() / "pipe.bin").c_str(), 0600), 0);
  expect_refused({folder.path() / "pipe"}, kShort, {"pipe'", "expected a file or a folder"});
  expect_refused({folder.path() / "pipe.bin"}, kShort,
                 {"pipe.bin'", "expected a file or a folder"});
  const fs::path wide = folder.write("t.u64.bin", std::string(80, '\0'));
  expect_refused({wide}, kShort, {"t.u64.bin'", "type u16 or u32", "u64"});
  expect_refused({folder.write("t_i32.bin", std::string(80, '\0'))}, kShort,
                 {"t_i32.bin'", "type u16 or u32", "i32"});
  fs::create_directory(folder.path() / "folder.bin");
  expect_refused({folder.path() / "folder.bin"}, kShort, {"folder.bin'", "got a folder"});

  folder.write("binary/a", std::string("\0\0", 2));
  folder.write("binary/b.bin", std::string("\0\0", 2));
  expect_refused({folder.path() / "binary"}, kShort, {"no text", "2 files", "2 binary", ".bin"});
  fs::create_directory(folder.path() / "nothing");
  expect_refused({folder.path() / "nothing"}, kShort, {"no text", "0 files"});

  expect_refused({text}, {.sequence = 0}, {"sequence", "at least 1", "got 0"});
  expect_refused({text}, {.sequence = 1, .vocab_size = 0}, {"vocab_size", "at least 1"});
  expect_refused({text}, {.sequence = 1, .held_out_share = 1}, {"held_out_share", "below 1"});
}

TEST(Corpus, NamesWhatItMayNotRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TemporaryFolder folder;
  const fs::path file = folder.write("locked", "text"), tokens = folder.write("t.bin", "1234");
  folder.write("d/locked/a", "text");
  const fs::path inner = folder.path() / "d/locked";
  for (const fs::path& path : {file, tokens, inner}) fs::permissions(path, fs::perms::none);
  expect_refused({file}, kShort, {"cannot read", "locked'", "Permission denied"});
  expect_refused({tokens}, kShort, {"t.bin'", "Permission denied"});
  expect_refused({folder.path() / "d"}, kShort, {"cannot read folder", "d/locked'"});
  fs::permissions(inner, fs::perms::owner_all);
}

TEST(Corpus, NamesATokenBeyondTheVocabulary) {
  const TemporaryFolder folder;
  const Corpus corpus({folder.write("a", "aaa"), folder.write("b", "aaza")},
                      {.sequence = 1, .vocab_size = 'z'});
  std::vector<int64_t> tokens(6);
  corpus.read(0, tokens);  // "aaa\naa"
  tokens.resize(8);
  const std::string message = message_of([&] { corpus.read(0, tokens); });
  for (const char* part : {"/b'", "token 122", "offset 2 ", "vocabulary of 122"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST(Corpus, ReadsWithinItselfOnly) {
  const TemporaryFolder folder;
  const Corpus corpus({folder.write("a", "abcdefgh")}, kShort);
  std::vector<int64_t> tokens(3);
  corpus.read(5, tokens);
  EXPECT_EQ(tokens, (std::vector<int64_t>{'f', 'g', 'h'}));
  EXPECT_THROW(corpus.read(6, tokens), Error);
  EXPECT_THROW(corpus.read(-1, tokens), Error);
  tokens.resize(9);
  EXPECT_THROW(corpus.read(0, tokens), Error);
}

TEST(Corpus, FingerprintsTellDataApart) {
  const TemporaryFolder folder;
  const auto of = [&](const char* name, const std::string& bytes) {
    return Corpus({folder.write(name, bytes)}, kShort).fingerprint();
  };
  EXPECT_EQ(of("a", "some text"), of("b", "some text"));
  EXPECT_NE(of("a", "some text"), of("b", "some texx"));
  EXPECT_NE(of("a", "some text"), of("b", "some text\n"));
  EXPECT_NE(of("a.u16.bin", "0123456789abcdef"), of("a.u32.bin", "0123456789abcdef"));
  std::string large(3 << 20, 'x');
  const uint64_t whole = of("a.bin", large);
  EXPECT_EQ(whole, of("b.bin", large));
  large.back() = 'y';
  EXPECT_NE(whole, of("a.bin", large));
  large.resize(large.size() - 2);
  EXPECT_NE(whole, of("a.bin", large));
}

TEST(Corpus, DefaultsToASourceTree) {
  const TemporaryFolder folder;
  folder.write("README.md", "readme");
  folder.write("coda/core/a.h", "code");
  folder.write("coda/core/a.h.orig", "no");
  folder.write("docs/plot.svg", "no");
  folder.write("runs/metrics.md", "no");
  EXPECT_EQ(text_of(Corpus(default_corpus_paths(folder.path()), kShort)), "readme\ncode");
  const TemporaryFolder nothing;
  const std::string message = message_of([&] { default_corpus_paths(nothing.path()); });
  EXPECT_NE(message.find("--data"), std::string::npos) << message;
}

}  // namespace
}  // namespace coda::train
