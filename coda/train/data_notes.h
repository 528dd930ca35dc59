// What is said about a model's data before it is used, where it may surprise: lines, or nothing.
#pragma once
#include <optional>

#include "coda/train/corpus.h"
#include "coda/train/run_state.h"

namespace coda::train {

// To a model that was trained with a tokenizer bytes are hardly tokens. run: that trained it, where
// one of coda's did.
std::string byte_tokens_note(const Corpus& corpus, int64_t vocab_size,
                             const std::optional<RunState>& run);

// Where the run of a checkpoint has trained on what is held out here, or may have. expects_same:
// nobody asked for other data than the run's.
std::string held_out_note(const Corpus& corpus, const RunState& run, bool expects_same);

}  // namespace coda::train
