// What is said of a model's data, and where nothing has to be said.
#include "coda/train/data_notes.h"

#include "tests/core/temporary_folder.h"

namespace coda::train {
namespace {

using DataNotes = InFolder;

TEST_F(DataNotes, SayThatBytesAreNoTokensOfALargeVocabulary) {
  const Corpus text({folder_.write("a.txt", "some text")}, {.sequence = 1});
  EXPECT_EQ(byte_tokens_note(text, 256, {}), "");
  const std::string note = byte_tokens_note(text, 50257, {});
  EXPECT_NE(note.find("vocabulary has 50257 tokens"), std::string::npos) << note;
  EXPECT_NE(note.find(".u16.bin"), std::string::npos) << note;
  EXPECT_TRUE(note.ends_with('\n'));
  const Corpus tokens({folder_.write("a.u16.bin", "some text.")}, {.sequence = 1});
  EXPECT_EQ(byte_tokens_note(tokens, 50257, {}), "");
  RunState run;
  run.options.data = {"a.txt", "b.txt"};
  EXPECT_EQ(byte_tokens_note(text, 50257, run), "");
  run.options.data = {"a.u16.bin"};
  EXPECT_EQ(byte_tokens_note(text, 50257, run), note);
}

TEST_F(DataNotes, SayHowMuchOfWhatIsHeldOutWasTrainedOn) {
  const auto file = folder_.write("a.txt", std::string(1000, 'x'));
  const auto corpus = [&](int64_t sequence, double share) {
    return Corpus({file}, {.sequence = sequence, .held_out_share = share});
  };
  RunState run;  // held out 50 tokens
  run.options.sequence = 9;
  run.data = corpus(9, 0.05).fingerprint();
  EXPECT_EQ(held_out_note(corpus(9, 0.05), run, true), "");
  EXPECT_EQ(held_out_note(corpus(9, 0.01), run, false), "");
  for (const bool expects_same : {false, true}) {
    EXPECT_EQ(held_out_note(corpus(9, 0.2), run, expects_same),
              "of the last 200 tokens, the model was trained on 150: its run held out no more than "
              "the last 50\n");
  }
  EXPECT_EQ(held_out_note(corpus(99, 0.05), run, true),  // a sequence takes more
            "of the last 100 tokens, the model was trained on 50: its run held out no more than "
            "the last 50\n");
  run.options.sequence = 99;
  EXPECT_EQ(held_out_note(corpus(99, 0.05), run, true), "");
}

TEST_F(DataNotes, SayThatTheDataHasChangedToWhoExpectsTheSame) {
  const Corpus other({folder_.write("a.txt", "other text")}, {.sequence = 1});
  RunState run;
  run.data = other.fingerprint() + 1;
  EXPECT_EQ(held_out_note(other, run, false), "");
  const std::string note = held_out_note(other, run, true);
  EXPECT_NE(note.find("not what it was when the model was trained"), std::string::npos) << note;
}

}  // namespace
}  // namespace coda::train
