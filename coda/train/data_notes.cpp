#include "coda/train/data_notes.h"

#include <fmt/format.h>

#include <algorithm>

namespace coda::train {

std::string byte_tokens_note(const Corpus& corpus, int64_t vocab_size,
                             const std::optional<RunState>& run) {
  if (!corpus.is_text() || vocab_size <= 256) return "";
  if (run && std::ranges::none_of(run->options.data, is_token_file)) return "";
  return fmt::format(
      "the data is text, each of its bytes a token, and the model's vocabulary has {} tokens; what "
      "the model's tokenizer makes of the text is given as a token file (.u16.bin, .u32.bin)\n",
      vocab_size);
}

std::string held_out_note(const Corpus& corpus, const RunState& run, bool expects_same) {
  if (corpus.fingerprint() != run.data) {
    if (!expects_same) return "";
    return "the data is not what it was when the model was trained: some of what is held out here "
           "may have been trained on\n";
  }
  const int64_t trained =
      training_tokens(corpus.size(), run.options.sequence, CorpusOptions().held_out_share);
  if (trained <= corpus.training_tokens()) return "";
  return fmt::format(
      "of the last {} tokens, the model was trained on {}: its run held out no more than the last "
      "{}\n",
      corpus.held_out_tokens(), trained - corpus.training_tokens(), corpus.size() - trained);
}

}  // namespace coda::train
