// The tokens to train on: text files and folders of them, bytes as tokens and in memory, with a
// newline between files; or one token file, memory-mapped. The end of it is held out: training
// windows lie in [0, training_tokens()), held-out ones in [training_tokens(), size()).
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coda/train/mapped_file.h"

namespace coda::train {

enum class TokenType { kUint16, kUint32 };  // little-endian

struct CorpusOptions {
  int64_t sequence = 0;                 // T; a window has T + 1 tokens
  int64_t vocab_size = 256;             // tokens are below it
  double held_out_share = 0.05;         // of all tokens, but at least one window
  std::optional<TokenType> token_type;  // else by suffix: .u16.bin, .u32.bin; .bin is uint16
  // A folder that is no part of the text, as that of the run, which fills while the text is read.
  std::filesystem::path left_out;
};

bool is_token_file(const std::filesystem::path& path);  // by its name; else it is text

// Those that are not held out, of so many that two windows fit.
int64_t training_tokens(int64_t size, int64_t sequence, double held_out_share);

struct CorpusFile {
  std::filesystem::path path;
  int64_t first_token = 0;  // where it begins in the corpus
};

class Corpus {
 public:
  // Throws Error: a path that is missing, unreadable or of another kind; a token file that is not
  // alone or cut short; no text; fewer tokens than a training and a held-out window take.
  Corpus(const std::vector<std::filesystem::path>& paths, const CorpusOptions& options);

  int64_t size() const { return size_; }
  int64_t training_tokens() const { return training_tokens_; }
  int64_t held_out_tokens() const { return size_ - training_tokens_; }
  int64_t sequence() const { return options_.sequence; }
  const std::vector<CorpusFile>& files() const { return files_; }
  bool is_text() const { return std::holds_alternative<std::string>(bytes_); }

  // Copies the tokens from position `first` on. One beyond the vocabulary is an Error that names
  // file, position, token and vocabulary; nothing can be said of `tokens` then.
  void read(int64_t first, std::span<int64_t> tokens) const;

  // A number that other data hardly has: of every byte of a text; of a token file its size and
  // pages spread over it. For a resumed run, which is to go on with the same data.
  uint64_t fingerprint() const;

 private:
  void open_token_file(const std::filesystem::path& path);
  void read_text(const std::vector<std::filesystem::path>& paths);
  void hold_out();
  std::string_view bytes() const;

  CorpusOptions options_;
  std::vector<CorpusFile> files_;
  std::variant<std::string, MappedFile> bytes_;  // of texts; of a token file
  int64_t token_bytes_ = 1;
  int64_t size_ = 0;
  int64_t training_tokens_ = 0;
};

// What a source tree has of text to train on: its sources, documents, tests and scripts. Throws
// Error where `root` has none of them.
std::vector<std::filesystem::path> default_corpus_paths(const std::filesystem::path& root);

}  // namespace coda::train
