#include "coda/terminal/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "coda/terminal/text_width.h"

namespace coda::terminal {
namespace {

constexpr int kBarWidth = 24;

std::string duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  if (whole < 100) return fmt::format("{} s", whole);
  if (whole < 6000) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

// A line that wraps could not be overwritten.
size_t terminal_width() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80u;
}

// Which moves its cursor as it is told to.
bool is_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && (kind == nullptr || std::string_view(kind) != "dumb");
}

// Nobody's work ends because a line about it cannot be written, as fmt::print would have it.
void write(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string progress_text(const std::string& what, const ProgressState& state,
                          std::string_view note) {
  const int64_t percent = state.total > 0 ? state.done * 100 / state.total : 100;
  std::string text = fmt::format("{}  {}/{}  {} %", what, state.done, state.total, percent);
  if (state.done > state.first && state.done < state.total) {
    const double each = state.seconds / static_cast<double>(state.done - state.first);
    text +=
        fmt::format(", {} left", duration(each * static_cast<double>(state.total - state.done)));
  }
  if (!note.empty()) text += fmt::format(", {}", note);
  return text;
}

std::string progress_bar(int64_t done, int64_t total, int width) {
  const int full =
      total > 0 ? static_cast<int>(std::clamp(done, int64_t{0}, total) * width / total) : width;
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i < full ? "━" : "╌";
  return bar;
}

Progress::Progress(std::string what, int64_t total, const ProgressOptions& options)
    : what_(std::move(what)), total_(total), options_(options), terminal_(is_terminal()) {}

Progress::~Progress() { clear(); }

void Progress::show(int64_t done, std::string_view note) {
  if (!terminal_ && !options_.plain_lines) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string text = progress_text(what_, {done, total_, options_.first, seconds}, note);
  if (terminal_) {
    const std::string line =
        cut_to_width(progress_bar(done, total_, kBarWidth) + "  " + text, terminal_width() - 1);
    // "\033[K": the rest of an earlier, longer line goes.
    write("\r" + line + "\033[K");
    on_screen_ = true;
    next_ = now + std::chrono::milliseconds(100);
  } else {
    write(text + '\n');
    next_ = now + std::chrono::seconds(10);
  }
}

void Progress::clear() {
  if (!on_screen_) return;
  write("\r\033[K");
  on_screen_ = false;
}

}  // namespace coda::terminal
