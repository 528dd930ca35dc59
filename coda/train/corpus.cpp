#include "coda/train/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <new>
#include <system_error>

#include "coda/core/error.h"
#include "coda/core/random.h"
#include "coda/train/text_files.h"

namespace coda::train {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "token files are mapped as they are");

// By the last word of its name: tokens.u32.bin, tokens_u32.bin.
TokenType type_by_name(const fs::path& path) {
  const std::string stem = path.stem().string();
  const std::string word = stem.substr(stem.find_last_of("._-") + 1);  // all, where there is none
  if (word == "u32") return TokenType::kUint32;
  for (const char* other : {"u8", "i8", "i16", "i32", "u64", "i64"}) {
    if (word != other) continue;
    throw Error(fmt::format("data: '{}': expected tokens of type u16 or u32, its name says {}",
                            path.string(), word));
  }
  return TokenType::kUint16;
}

template <class Token>
void widen(std::string_view bytes, int64_t first, std::span<int64_t> tokens) {
  const char* from = bytes.data() + static_cast<size_t>(first) * sizeof(Token);
  for (size_t i = 0; i < tokens.size(); ++i) {
    Token token;
    std::memcpy(&token, from + i * sizeof(Token), sizeof(Token));
    tokens[i] = token;
  }
}

uint64_t hash(uint64_t seed, std::string_view bytes) {
  uint64_t state = mix(seed, bytes.size());
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min(sizeof(word), bytes.size() - i));
    state = mix(state, word);
  }
  return state;
}

}  // namespace

bool is_token_file(const fs::path& path) { return path.extension() == ".bin"; }

int64_t training_tokens(int64_t size, int64_t sequence, double held_out_share) {
  const int64_t window = sequence + 1;
  const auto share = static_cast<int64_t>(std::ceil(static_cast<double>(size) * held_out_share));
  return size - std::clamp(share, window, size - window);
}

Corpus::Corpus(const std::vector<fs::path>& paths, const CorpusOptions& options)
    : options_(options) {
  if (options.sequence < 1) {
    fail_argument("data", "sequence", "at least 1", fmt::format("{}", options.sequence));
  }
  if (options.vocab_size < 1) {
    fail_argument("data", "vocab_size", "at least 1", fmt::format("{}", options.vocab_size));
  }
  if (!(options.held_out_share >= 0 && options.held_out_share < 1)) {
    fail_argument("data", "held_out_share", "from 0 to below 1",
                  fmt::format("{}", options.held_out_share));
  }
  if (paths.empty()) throw Error("data: no path given; name a text file, a folder or a token file");
  const auto token_file = std::ranges::find_if(paths, is_token_file);
  if (token_file == paths.end()) {
    if (options.token_type) {
      fail_argument("data", "token_type", "a token file, whose name ends in .bin",
                    fmt::format("'{}'", paths[0].string()));
    }
    read_text(paths);
  } else if (paths.size() == 1) {
    open_token_file(*token_file);
  } else {
    throw Error(fmt::format("data: '{}' is a token file, which has to be the only path; got {}",
                            token_file->string(), paths.size()));
  }
  hold_out();
}

void Corpus::read_text(const std::vector<fs::path>& paths) {
  const std::vector<fs::path> found = find_files(paths, options_.left_out);
  std::string text;
  int64_t empty = 0, binary = 0;
  for (const fs::path& path : found) {
    try {
      const std::optional<std::string> bytes = read_text_file(path);
      if (!bytes) {
        ++binary;
      } else if (bytes->empty()) {
        ++empty;
      } else {
        if (!text.empty()) text += '\n';
        files_.push_back({path, static_cast<int64_t>(text.size())});
        text += *bytes;
      }
    } catch (const std::bad_alloc&) {
      throw Error(
          fmt::format("data: '{}': {} bytes of text and this file do not fit into memory; "
                      "a token file (.bin) need not",
                      path.string(), text.size()));
    }
  }
  if (text.empty()) {
    throw Error(
        fmt::format("data: no text in '{}'{}: {} files, {} of them empty, {} binary (with a "
                    "zero byte); token files are named themselves and end in .bin",
                    paths[0].string(), paths.size() > 1 ? " and the other paths" : "", found.size(),
                    empty, binary));
  }
  size_ = static_cast<int64_t>(text.size());
  bytes_ = std::move(text);
}

void Corpus::open_token_file(const fs::path& path) {
  const std::vector<fs::path> found = find_files({path});
  if (found.size() != 1 || found[0] != path) {
    throw Error(fmt::format("data: '{}': expected a token file, got a folder", path.string()));
  }
  MappedFile mapped(path);
  const TokenType type = options_.token_type ? *options_.token_type : type_by_name(path);
  token_bytes_ = type == TokenType::kUint32 ? 4 : 2;
  const auto length = static_cast<int64_t>(mapped.bytes().size());
  if (length % token_bytes_ != 0) {
    throw Error(
        fmt::format("data: '{}': expected a multiple of {} bytes, as tokens are uint{}, got "
                    "{}; the file is cut short or its tokens have another type",
                    path.string(), token_bytes_, token_bytes_ * 8, length));
  }
  files_.push_back({path, 0});
  size_ = length / token_bytes_;
  bytes_ = std::move(mapped);
}

void Corpus::hold_out() {
  if (options_.sequence >= size_ / 2) {
    const std::string remedy = size_ >= 4 ? fmt::format("--seq {} or less fits", size_ / 2 - 1)
                                          : "give more data: 4 tokens are the least";
    throw Error(fmt::format(
        "data: {} tokens are too few for sequences of {}: one to train on and "
        "one held out take {} each; {}",
        size_, options_.sequence, static_cast<uint64_t>(options_.sequence) + 1, remedy));
  }
  training_tokens_ = train::training_tokens(size_, options_.sequence, options_.held_out_share);
}

std::string_view Corpus::bytes() const {
  if (const auto* text = std::get_if<std::string>(&bytes_)) return *text;
  return std::get<MappedFile>(bytes_).bytes();
}

void Corpus::read(int64_t first, std::span<int64_t> tokens) const {
  const auto count = static_cast<int64_t>(tokens.size());
  if (first < 0 || count > size_ || first > size_ - count) {
    fail_argument("data", "first", fmt::format("{} tokens within {}", count, size_),
                  fmt::format("from {} on", first));
  }
  if (token_bytes_ == 1) widen<uint8_t>(bytes(), first, tokens);
  if (token_bytes_ == 2) widen<uint16_t>(bytes(), first, tokens);
  if (token_bytes_ == 4) widen<uint32_t>(bytes(), first, tokens);
  const auto beyond =
      std::ranges::find_if(tokens, [&](int64_t token) { return token >= options_.vocab_size; });
  if (beyond == tokens.end()) return;
  const int64_t position = first + (beyond - tokens.begin());
  const CorpusFile& file = *std::prev(
      std::ranges::upper_bound(files_, position, std::less<>(), &CorpusFile::first_token));
  throw Error(
      fmt::format("data: '{}': token {} at offset {} (in tokens) is beyond the vocabulary "
                  "of {}; take a model with a larger one or other data",
                  file.path.string(), *beyond, position - file.first_token, options_.vocab_size));
}

uint64_t Corpus::fingerprint() const {
  const std::string_view all = bytes();
  if (is_text()) return hash(1, all);
  constexpr size_t kPages = 256, kPage = 4096;
  if (all.size() <= kPages * kPage) return hash(static_cast<uint64_t>(token_bytes_), all);
  uint64_t state = mix(static_cast<uint64_t>(token_bytes_), all.size());
  for (size_t i = 0; i < kPages; ++i) {
    const size_t start = (all.size() - kPage) * i / (kPages - 1);
    state = hash(state, all.substr(start, kPage));
  }
  return state;
}

std::vector<fs::path> default_corpus_paths(const fs::path& root) {
  // The last of them are held out, and these are the most alike.
  constexpr std::array kPlaces{"README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs",
                               "cmake",     "scripts",   "bench",           "examples",     "tests",
                               "coda"};
  constexpr std::array kSuffixes{".c", ".cmake", ".cpp", ".cu", ".cuh", ".h", ".md", ".py", ".sh"};
  std::vector<fs::path> places;
  for (const char* place : kPlaces) {
    std::error_code ignored;
    if (fs::exists(root / place, ignored)) places.push_back(root / place);
  }
  std::vector<fs::path> files = find_files(places);
  std::erase_if(files, [&](const fs::path& file) {
    return std::ranges::count(kSuffixes, file.extension().native()) == 0;
  });
  if (files.empty()) {
    throw Error(
        fmt::format("data: '{}' has no sources to train on; name text with --data", root.string()));
  }
  return files;
}

}  // namespace coda::train
