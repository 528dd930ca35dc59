// What the line says, and what is written where stderr is a terminal and where it is not.
#include "coda/terminal/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "coda/terminal/text_width.h"

namespace coda::terminal {
namespace {

TEST(Progress, SaysHowLong) {
  EXPECT_EQ(progress_text("check", {0, 10}), "check  0/10  0 %");
  EXPECT_EQ(progress_text("check", {5, 10, 0, 20}), "check  5/10  50 %, 20 s left");
  EXPECT_EQ(progress_text("check", {1, 10, 0, 20}), "check  1/10  10 %, 3 min 0 s left");
  EXPECT_EQ(progress_text("check", {1, 10, 0, 2000}), "check  1/10  10 %, 5 h 0 min left");
  EXPECT_EQ(progress_text("check", {10, 10, 0, 20}), "check  10/10  100 %");
  EXPECT_EQ(progress_text("check", {0, 0, 0, 0}), "check  0/0  100 %");
  EXPECT_EQ(progress_text("train", {5, 10, 0, 20}, "loss 2.5"),
            "train  5/10  50 %, 20 s left, loss 2.5");
  // Four steps were done by an earlier process: the fifth took 20 s, five are left.
  EXPECT_EQ(progress_text("train", {5, 10, 4, 20}), "train  5/10  50 %, 1 min 40 s left");
  EXPECT_EQ(progress_text("train", {4, 10, 4, 20}), "train  4/10  40 %");
}

TEST(Progress, DrawsABar) {
  EXPECT_EQ(progress_bar(0, 10, 5), "╌╌╌╌╌");
  EXPECT_EQ(progress_bar(5, 10, 5), "━━╌╌╌");
  EXPECT_EQ(progress_bar(10, 10, 5), "━━━━━");
  EXPECT_EQ(progress_bar(11, 10, 5), "━━━━━");
  EXPECT_EQ(progress_bar(-1, 10, 5), "╌╌╌╌╌");
  EXPECT_EQ(progress_bar(0, 0, 5), "━━━━━");
}

TEST(Progress, IsSilentOrPlainWithoutATerminal) {
  testing::internal::CaptureStderr();
  {
    Progress silent("check", 10);
    silent.show(5);
    Progress plain("train", 10, {.first = 4, .plain_lines = true});
    plain.show(4, "loss 2.5");
    plain.show(5, "loss 2.4");  // too soon for another line
    plain.clear();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "train  4/10  40 %, loss 2.5\n");
}

// As on a full disk: the work goes on.
TEST(Progress, IsLeftOutWhereItCannotBeWritten) {
  std::fflush(stderr);
  const int stderr_before = dup(STDERR_FILENO), full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  dup2(full, STDERR_FILENO);
  EXPECT_NO_THROW({
    Progress progress("train", 10, {.first = 4, .plain_lines = true});
    progress.show(5, "loss 2.5");
  });
  dup2(stderr_before, STDERR_FILENO);
  std::clearerr(stderr);
  close(stderr_before);
  close(full);
}

// Stderr is a terminal of `columns` columns while this lives.
class PseudoTerminal {
 public:
  explicit PseudoTerminal(unsigned short columns) {
    main_ = posix_openpt(O_RDWR | O_NOCTTY);
    EXPECT_TRUE(main_ >= 0 && grantpt(main_) == 0 && unlockpt(main_) == 0);
    const int terminal = open(ptsname(main_), O_RDWR | O_NOCTTY);
    EXPECT_GE(terminal, 0);
    const winsize size{24, columns, 0, 0};
    EXPECT_EQ(ioctl(terminal, TIOCSWINSZ, &size), 0);
    std::fflush(stderr);
    stderr_ = dup(STDERR_FILENO);
    dup2(terminal, STDERR_FILENO);
    close(terminal);
  }
  std::string finish() {  // what was written; stderr is itself again
    std::fflush(stderr);
    fcntl(main_, F_SETFL, O_NONBLOCK);
    std::string text;
    std::array<char, 4096> buffer;
    for (ssize_t count; (count = read(main_, buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<size_t>(count));
    }
    dup2(stderr_, STDERR_FILENO);
    close(stderr_);
    close(main_);
    return text;
  }

 private:
  int main_ = -1, stderr_ = -1;
};

TEST(Progress, OverwritesOneLineOfATerminal) {
  PseudoTerminal terminal(40);
  {
    Progress progress("train", 10);
    progress.show(5, "a note that is longer than the line");
    progress.show(6);  // too soon
  }
  const std::string text = terminal.finish();
  const std::string line =
      cut_to_width(progress_bar(5, 10, 24) + "  train  5/10  50 %, 1 s left", 39);
  EXPECT_EQ(text, "\r" + line + "\033[K\r\033[K");
}

}  // namespace
}  // namespace coda::terminal
